import { resolve } from "node:path";
import { compareRuns, readRunTrace, type ReplayedRun, type ReplayReport, type SelectedRun } from "../../replay.ts";
import { newestRuns } from "../../replay/batch/replayRuns.ts";
import type { Candidate } from "../../replay/run/CounterfactualReplay.ts";
import { divergenceText } from "../../replay/results/Divergence.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { comparisonPage } from "../../timeline.ts";
import { findAgent } from "../ids/findLog.ts";
import type { Session } from "../session/Session.ts";
import { type AgentOptions, requireAgent } from "../session/storedAgents.ts";
import { writeOver } from "../storage/commandFiles.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import { reasonOfParts } from "../terminal/failureReport.ts";
import { withProgress } from "../terminal/Output.ts";
import { painted, type Part } from "../terminal/painted.ts";
import { counted } from "../terminal/shortTexts.ts";
import { comparisonLines } from "./compare.ts";
import { statusOf } from "./shown.ts";

interface CandidateOptions extends Pick<Candidate, "from" | "model" | "llmModel" | "systemPrompt"> {
  readonly onUnrecordedCall?: "stop" | "execute" | undefined;
}

export interface ReplayCommandOptions extends AgentOptions, CandidateOptions {
  readonly run?: string | undefined;
  readonly out?: string | undefined;
}

type Loaded = Awaited<ReturnType<typeof requireAgent>>;

/** `replay [agent]`: replays a stored run, or the newest run of every agent, with the code of `--agent`. */
export async function replay(
  session: Session,
  options: ReplayCommandOptions,
  given?: string,
): Promise<ExitReason | void> {
  const loaded = await requireAgent(session, options, "A replay runs the code of your agent.");
  if (given !== undefined) return replayOne(session, loaded, options, given);
  if (options.run !== undefined || options.from !== undefined || options.out !== undefined)
    throw new CommandFailure("usage", "Name the agent of the run: --run, --from and --out are for one run.");
  return replayAll(session, loaded, options);
}

async function replayOne(
  { output, io }: Session,
  { agent, feature: { storage }, replay: load }: Loaded,
  { run: runId, out, ...options }: ReplayCommandOptions,
  given: string,
): Promise<ExitReason | void> {
  const agentId = await findAgent(storage, given);
  const candidate = candidateOf(options);
  const { replayRun } = await load();
  const result = await replayRun(agent, { storage, agentId, runId, signal: io.stopSignal(), ...candidate });
  const { matches, status, divergence, trace } = result;
  const recorded = await readRunTrace(storage, { agentId, runId: trace.runId });
  if (out !== undefined) await writeOver(resolve(io.cwd, out), comparisonPage(recorded, trace));
  if (output.json) await output.document({ agentId, ...result });
  else {
    await output.line(painted("bold", agentId), matches ? " matches its recording: " : ": ", statusOf(status), ".");
    if (divergence) await output.text(divergenceText(divergence));
    else if (!matches && Object.keys(candidate).length > 0) await comparisonLines(output, compareRuns(recorded, trace));
  }
  return matches ? undefined : "differs";
}

async function replayAll(
  session: Session,
  { agent, feature: { storage }, replay: load }: Loaded,
  options: ReplayCommandOptions,
): Promise<ExitReason | void> {
  const { output, io } = session;
  const { replayRuns } = await load();
  const runs: SelectedRun[] = [];
  for await (const run of newestRuns(storage)) runs.push(run);
  const replays = replayRuns(agent, { storage, runs }, { signal: io.stopSignal(), replay: candidateOf(options) });
  const differing: ReplayedRun[] = [];
  await withProgress(output, "Replaying", async (tell) => {
    for await (const run of replays) {
      const { replayed, matching } = replays.report;
      tell(`${replayed} of ${runs.length}, ${matching} match`);
      if (run.result?.matches !== true) differing.push(run);
      if (output.json) await output.item({ ...run, ...(run.error !== undefined && { error: reasonOf(run.error) }) });
    }
  });
  if (!output.json) await reportLines(session, differing, replays.report);
  if (differing.some(({ result }) => result)) return "differs";
  return reasonOfParts(differing.map(({ error }) => error));
}

async function reportLines(
  { output }: Session,
  differing: readonly ReplayedRun[],
  { replayed, matching }: ReplayReport,
): Promise<void> {
  const rows = differing.map((run): readonly Part[] => [run.agentId, run.runId ?? "", ...differenceOf(run)]);
  if (rows.length > 0) await output.table(["AGENT", "RUN", "RESULT", "NODE"], rows);
  const paint = matching === replayed ? "green" : "red";
  await output.line(painted(paint, `${matching} of ${counted(replayed, "run")} match.`));
}

function differenceOf({ result, error }: ReplayedRun): readonly Part[] {
  if (!result) return [painted("red", reasonOf(error)), ""];
  const { status, divergence } = result;
  return [painted("yellow", divergence ? `another ${divergence.what}` : status), divergence?.nodeId ?? ""];
}

/** Returns the given options of a candidate. Without any, the replay is exact. */
function candidateOf({ from, model, llmModel, systemPrompt, onUnrecordedCall }: CandidateOptions): CandidateOptions {
  const all = { from, model, llmModel, systemPrompt, onUnrecordedCall };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
