import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * An agent, a task, a checkpoint or a thread cannot be created, because its id is in use. The stored state is
 * unchanged.
 */
export class AlreadyExistsError extends AgentPersistenceError {
  constructor(
    override readonly code: "agent_exists" | "checkpoint_exists" | "task_exists" | "thread_exists",
    /** The id of the agent or thread. A task has the id of its agent. */
    readonly agentId: string,
    /** The id of the checkpoint. Omitted for other kinds. */
    readonly checkpointId?: string,
    reason?: string,
  ) {
    super(messages[code](quoted(agentId), checkpointId && quoted(checkpointId), reason));
  }
}

const messages: Readonly<
  Record<AlreadyExistsError["code"], (id: string, checkpoint?: string, reason?: string) => string>
> = {
  agent_exists: (id) => `The storage already has an agent ${id}. Choose another id, or a storage without this agent.`,
  checkpoint_exists: (id, checkpoint, reason) => `Checkpoint ${checkpoint} of agent ${id} cannot be saved: ${reason}.`,
  task_exists: (id) =>
    `The storage already has an agent or a task ${id}. Give the new task another taskId, or omit taskId to generate a new id.`,
  thread_exists: (id) => `The storage already has a thread ${id}. Choose another id, or delete that thread first.`,
};
