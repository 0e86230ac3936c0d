import { type AgentOptions, storedAgents } from "../session/storedAgents.ts";
import { checkpointGiven } from "../ids/findCheckpointId.ts";
import { findAgent } from "../ids/findLog.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { Session } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";

export interface ForkCommandOptions extends AgentOptions {
  readonly checkpoint?: string | undefined;
}

/** `fork <agent> <new agent>`: creates an independent copy. */
export async function fork(session: Session, options: ForkCommandOptions, given: string, newId: string): Promise<void> {
  const { output } = session;
  assertAgentId(newId);
  const feature = await storedAgents(session, options, "write");
  const agentId = await findAgent(feature.storage, given);
  const { checkpoint } = options;
  const checkpointId = await checkpointGiven(feature.storage, agentId, checkpoint);
  const upTo = checkpointId === undefined ? "" : ` up to checkpoint ${checkpointId}`;
  await session.confirm([
    "The agent ",
    painted("bold", newId),
    " will get the history of ",
    painted("bold", agentId),
    `${upTo}.`,
  ]);
  await feature.agent(agentId).fork(newId, { checkpointId });
  const document = { agentId: newId, forkOf: agentId };
  await output.result(document, "Forked ", painted("bold", agentId), " as ", painted("bold", newId), ".");
}
