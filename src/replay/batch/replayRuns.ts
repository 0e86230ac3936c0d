import type { AIAgent } from "../../agent/AIAgent.ts";
import { inspect } from "../../inspect/AgentInspector.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, customSchema, integerFrom, numberFrom } from "../../internal/options/optionSchemas.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import type { ReplayResult } from "../run/replayRecording.ts";
import { candidateShape } from "../run/CounterfactualReplay.ts";
import { replayedAgentSchema, replayRun, type ReplayRunOptions } from "../run/replayRun.ts";
import type { RunTrace } from "../trace/RunTrace.ts";

/** A stored run. */
export interface SelectedRun {
  readonly agentId: string;
  /** Defaults to the newest run of the agent. */
  readonly runId?: string | undefined;
}

/** The runs to replay. */
export interface RunSelection {
  readonly storage: PersistenceStorageProvider;
  /** Defaults to the newest run of each agent of the storage. */
  readonly runs?: Iterable<SelectedRun> | AsyncIterable<SelectedRun> | undefined;
}

/** Options of {@link replayRuns}. */
export interface ReplayRunsOptions {
  /** The number of replays at the same time. Defaults to 4. */
  readonly concurrency?: number | undefined;
  /** Starts no replay after live requests have used this number of tokens. Defaults to no limit. */
  readonly budget?: { readonly tokens: number } | undefined;
  /** Stops the replays with the signal's reason. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
  /** The further options of each `replayRun`. Defaults to an exact replay. */
  readonly replay?: Omit<ReplayRunOptions, "storage" | "agentId" | "runId" | "signal"> | undefined;
}

/** Replays that start when you iterate over the results. If you leave the loop, the replays stop. */
export interface ReplayedRuns extends AsyncIterable<ReplayedRun> {
  /** The sums of the replays so far. */
  readonly report: ReplayReport;
}

const runsSchema = customSchema(
  "a list of runs, which may be asynchronous",
  (runs) => Object(runs) === runs && [Symbol.iterator, Symbol.asyncIterator].some((of) => of in Object(runs)),
);
const selectionSchema = strictOptions(() => ({ storage: providerSchema, runs: runsSchema.optional() }));
const optionsSchema = strictOptions(() => ({
  concurrency: integerFrom(1).optional(),
  budget: strictOptions(() => ({ tokens: numberFrom(0) })).optional(),
  signal: abortSignalSchema.optional(),
  replay: strictOptions(candidateShape).optional(),
}));

/**
 * Replays many stored runs with one agent, some at the same time, and sums the results. Yields each run when its replay
 * ends. Yields a run that cannot be replayed with an error.
 *
 * @throws InvalidInputError if an argument is invalid.
 * @throws StorageNotListableError while iterating, without `runs`, if the storage cannot list agents.
 *
 * @example
 * ```ts
 * const replays = replayRuns(agent, { storage }, { concurrency: 8 });
 * for await (const { agentId, result } of replays) console.log(agentId, result?.matches, replays.report.replayed);
 * console.log(replays.report.divergences);
 * ```
 */
export function replayRuns(
  agent: AIAgent<never, unknown>,
  selection: RunSelection,
  options: ReplayRunsOptions = {},
): ReplayedRuns {
  checkSchema(replayedAgentSchema, agent, "agent of replayRuns()");
  checkSchema(selectionSchema, selection, "selection of replayRuns()");
  checkSchema(optionsSchema, options, "options of replayRuns()");
  const { replay = {} } = options;
  const totals = new ReplayTotals(replay.model === "live");
  return {
    get report() {
      return totals.report;
    },
    [Symbol.asyncIterator]: () => replayed(agent, selection, options, totals),
  };
}

async function* replayed(
  agent: AIAgent<never, unknown>,
  { storage, runs = newestRuns(storage) }: RunSelection,
  { concurrency = 4, budget, signal, replay = {} }: ReplayRunsOptions,
  totals: ReplayTotals,
): AsyncGenerator<ReplayedRun, void> {
  const stop = new AbortController();
  const signals = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const open = new Set<Promise<ReplayedRun>>();
  const next = async (): Promise<ReplayedRun> => {
    const { ended, run } = await Promise.race([...open].map(async (each) => ({ ended: each, run: await each })));
    open.delete(ended);
    signal?.throwIfAborted();
    totals.add(run);
    return run;
  };
  const isSpent = () => totals.tokens >= (budget?.tokens ?? Infinity);
  let end: ReplayReport["ended"] = "all";
  try {
    for await (const { agentId, runId } of runs) {
      signal?.throwIfAborted();
      if (isSpent()) {
        end = "budget";
        break;
      }
      open.add(replayOne(agent, { agentId, runId }, { ...replay, storage, signal: signals }));
      if (open.size >= concurrency) yield await next();
    }
    while (open.size > 0) yield await next();
    totals.ended = end;
  } finally {
    totals.ended ??= "stopped";
    stop.abort();
    await Promise.all(open);
  }
}

type RunOptions = Omit<ReplayRunOptions, "agentId" | "runId">;

async function replayOne(agent: AIAgent<never, unknown>, run: SelectedRun, options: RunOptions): Promise<ReplayedRun> {
  const named = withoutUndefined(run);
  try {
    return { ...named, result: await replayRun(agent, { ...options, ...named }) };
  } catch (error) {
    return { ...named, error };
  }
}

/** Yields the newest run of each agent, and the agents that cannot be read. */
export async function* newestRuns(storage: PersistenceStorageProvider): AsyncGenerator<SelectedRun> {
  for await (const { agentId, shape, runId, status } of inspect(storage).agents())
    if (shape === "agent" && (runId !== undefined || status === "unreadable")) yield { agentId, runId };
}

/** Sums the results of replays. */
class ReplayTotals {
  readonly #isLive: boolean;
  readonly #divergences = new Map<string, { readonly nodeId: string; readonly what: string; count: number }>();
  readonly #counts = { replayed: 0, matching: 0, diverged: 0, failed: 0, tokens: 0 };
  ended: ReplayReport["ended"];

  /** @param isLive - whether model requests cost tokens */
  constructor(isLive: boolean) {
    this.#isLive = isLive;
  }

  get tokens(): number {
    return this.#counts.tokens;
  }

  add({ result }: ReplayedRun): void {
    const counts = this.#counts;
    counts.replayed++;
    counts[result ? (result.matches ? "matching" : "diverged") : "failed"]++;
    if (this.#isLive) counts.tokens += tokensOf(result);
    if (result?.divergence) this.#addDivergence(result.divergence);
  }

  get report(): ReplayReport {
    const divergences = [...this.#divergences.values()].toSorted((one, other) => other.count - one.count);
    return withoutUndefined({
      ...this.#counts,
      divergences: divergences.map((each) => ({ ...each })),
      ended: this.ended,
    });
  }

  #addDivergence({ nodeId, what }: { readonly nodeId: string; readonly what: string }): void {
    const key = JSON.stringify([nodeId, what]);
    const known = this.#divergences.get(key) ?? { nodeId, what, count: 0 };
    known.count++;
    this.#divergences.set(key, known);
  }
}

function tokensOf(result: ReplayedRun["result"]): number {
  const requests = result?.trace?.visits.flatMap((visit) => visit.requests) ?? [];
  return requests.reduce((sum, { usage: { inputTokens = 0, outputTokens = 0, totalTokens } = {} }) => {
    // Not every provider reports the total.
    return sum + (totalTokens ?? inputTokens + outputTokens);
  }, 0);
}

/** A run of a selection, with either the `result` of the replay or an `error`. */
export interface ReplayedRun {
  readonly agentId: string;
  /** Omitted if the newest run was replayed. */
  readonly runId?: string;
  readonly result?: ReplayResult & { readonly trace?: RunTrace };
  /** The error of a run that could not be replayed. */
  readonly error?: unknown;
}

/** The sums of the replays so far. */
export interface ReplayReport {
  readonly replayed: number;
  readonly matching: number;
  readonly diverged: number;
  /** The number of runs that could not be replayed. */
  readonly failed: number;
  /** The tokens of live model requests. */
  readonly tokens: number;
  /** The numbers of first differences by node, most frequent first. */
  readonly divergences: readonly { readonly nodeId: string; readonly what: string; readonly count: number }[];
  /** Why the replays ended. `undefined` while they run. */
  readonly ended?: "all" | "budget" | "stopped";
}
