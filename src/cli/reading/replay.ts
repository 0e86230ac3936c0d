import { replayRun } from "../../replay.ts";
import { divergenceText } from "../../replay/fixture/divergenceText.ts";
import { findAgent } from "../ids/findLog.ts";
import type { Session } from "../session/Session.ts";
import { type AgentOptions, requireAgent } from "../session/storedAgents.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import { painted } from "../terminal/painted.ts";
import { statusOf } from "./shown.ts";

export interface ReplayCommandOptions extends AgentOptions {
  readonly run?: string | undefined;
}

/** `replay <agent>`: replays a stored run with the code of `--agent`. */
export async function replay(
  session: Session,
  options: ReplayCommandOptions,
  given: string,
): Promise<ExitReason | void> {
  const { output, io } = session;
  const { agent, storage } = await requireAgent(session, options, "A replay runs the code of your agent.");
  const agentId = await findAgent(storage, given);
  const result = await replayRun(agent, { storage, agentId, runId: options.run, signal: io.stopSignal() });
  const { matches, status, divergence } = result;
  if (output.json) await output.document({ agentId, ...result });
  else {
    await output.line(painted("bold", agentId), matches ? " matches its recording: " : ": ", statusOf(status), ".");
    if (divergence) await output.text(divergenceText(divergence));
  }
  return matches ? undefined : "differs";
}
