import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** An agent, a task, a checkpoint or a thread cannot be written, because its id is taken. Nothing has changed. */
export class AlreadyExistsError extends AgentPersistenceError {
  constructor(
    override readonly code: "agent_exists" | "checkpoint_exists" | "task_exists" | "thread_exists",
    /** The agent or the thread; a task has the id of its agent. */
    readonly agentId: string,
    /** The checkpoint; absent unless one was to be saved. */
    readonly checkpointId?: string,
    reason?: string,
  ) {
    super(messages[code](quoted(agentId), checkpointId && quoted(checkpointId), reason));
  }
}

const messages: Readonly<
  Record<AlreadyExistsError["code"], (id: string, checkpoint?: string, reason?: string) => string>
> = {
  agent_exists: (id) =>
    `The storage already has an agent ${id}. Choose another id, or a storage without an agent of this id.`,
  checkpoint_exists: (id, checkpoint, reason) => `Checkpoint ${checkpoint} of agent ${id} cannot be saved: ${reason}.`,
  task_exists: (id) =>
    `The storage already has an agent or a task ${id}. Give the new task another taskId, or leave taskId out to get a new one.`,
  thread_exists: (id) => `The storage already has a thread ${id}. Choose another id, or delete that thread first.`,
};
