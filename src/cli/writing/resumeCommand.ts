import type { PersistenceStorageProvider, RunResult } from "../../index.ts";
import { inspect } from "../../inspect.ts";
import { type AgentOptions, requireAgent } from "../session/storedAgents.ts";
import { checkpointGiven } from "../ids/findCheckpointId.ts";
import { findAgent } from "../ids/findLog.ts";
import type { Session } from "../session/Session.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { failureReport } from "../terminal/failureReport.ts";
import { painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortTexts.ts";
import { statusOf } from "../reading/shown.ts";

export interface ResumeCommandOptions extends AgentOptions {
  readonly checkpoint?: string | undefined;
  readonly takeOver?: boolean | undefined;
}

/** `resume <agent>`: runs an agent until it finishes or waits. */
export async function resume(session: Session, options: ResumeCommandOptions, given: string): Promise<void> {
  const { output, io } = session;
  const { agent, feature } = await requireAgent(session, options, "Resuming runs the code of your agent.");
  const { storage } = feature;
  const agentId = await findAgent(storage, given);
  const { checkpoint, takeOver = false } = options;
  const checkpointId = await checkpointGiven(storage, agentId, checkpoint);
  const where = checkpointId === undefined ? "" : `, on a branch that begins at checkpoint ${checkpointId}`;
  await session.confirm(["The agent ", painted("bold", agentId), ` will continue in this process${where}.`]);
  const steps = () => stepsOf(storage, agentId);
  const before = await steps();
  const result = await agent
    .resume({ agentId, checkpointId, takeOver, signal: io.stopSignal() })
    .catch(async (error: unknown) => {
      throw (await steps().catch(() => undefined)) === before ? error : failureOfRun(error);
    });
  if (output.json) return output.document({ agentId, ...result });
  await show(session, agentId, result);
}

/** Returns the head and the counts of an agent as text, which changes when the agent continues. */
async function stepsOf(storage: PersistenceStorageProvider, agentId: string): Promise<string> {
  const { head, counts } = (await inspect(storage).agent(agentId)) ?? {};
  return JSON.stringify([head?.checkpointId, counts]);
}

/** Returns an error with the exit code `failed` for an error of the code of the agent, after data has changed. */
function failureOfRun(error: unknown): unknown {
  if (failureReport(error, { isForPrograms: true, isStopped: false }).reason !== "usage") return error;
  return new CommandFailure("failed", (error as Error).message, { cause: error });
}

async function show({ output }: Session, agentId: string, result: RunResult<unknown>): Promise<void> {
  await output.line(painted("bold", agentId), " is ", statusOf(result.status), ".");
  if (result.status === "completed") return output.text(shortValue(result.output, 100_000));
  if (result.status === "paused") return output.text(result.reason);
  for (const { requestId, prompt } of result.requests) await output.line(`${requestId}  ${shortValue(prompt, 500)}`);
}
