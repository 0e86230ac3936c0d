import { type AgentOptions, storedAgents } from "../session/storedAgents.ts";
import { findAgent } from "../ids/findLog.ts";
import { statusOf } from "../reading/shown.ts";
import type { Session } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";

export interface StopCommandOptions extends AgentOptions {
  readonly reason?: string | undefined;
}

/** `stop <agent>`: pauses the run of an agent, in any process. */
export async function stop(session: Session, options: StopCommandOptions, given: string): Promise<void> {
  const { reason = "stopped on the command line" } = options;
  const durable = await confirmed(session, options, given, "will be paused if it runs");
  await tell(session, durable.agentId, await durable.stop({ reason }));
}

/** `cancel <agent>`: ends the run of an agent, in any process. */
export async function cancel(session: Session, options: StopCommandOptions, given: string): Promise<void> {
  const consequence = "will be canceled permanently; the effects of its run remain";
  const durable = await confirmed(session, options, given, consequence);
  await durable.cancel(options.reason);
  await tell(session, durable.agentId, { status: "cancelled" });
}

async function confirmed(session: Session, options: StopCommandOptions, given: string, consequence: string) {
  const feature = await storedAgents(session, options, "write");
  const agentId = await findAgent(feature.storage, given);
  await session.confirm(["The agent ", painted("bold", agentId), ` ${consequence}.`]);
  return feature.agent(agentId);
}

async function tell({ output }: Session, agentId: string, result: { readonly status: string | undefined }) {
  const status = statusOf(result.status ?? "unknown");
  await output.result({ agentId, ...result }, painted("bold", agentId), " is ", status, ".");
}
