import { z } from "zod";
import type { AgentContext, AgentStorage } from "../../agent/context/AgentContext.ts";
import type { AgentFeature } from "../../agent/feature/FeaturePipeline.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { runOf } from "../../agent/feature/ContextBinding.ts";
import { GitError } from "../../errors/workspaceErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { KeyedMutex } from "../../internal/Mutex.ts";
import {
  abortSignalSchema,
  numberFrom,
  clockSchema,
  functionSchema,
  nonEmptyString,
} from "../../internal/options/optionSchemas.ts";
import type { RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import { authorSchema } from "../git/commitFiles.ts";
import { rebaseIfSafe, type RebaseOptions, type RebaseResult } from "../rebase/rebaseIfSafe.ts";
import { UpstreamRecovery } from "../rebase/UpstreamRecovery.ts";
import type { DurableAgent } from "../../persistence/DurableAgent.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { forgetUnsaved, unsavedOf, watchUnsaved } from "../files/UnsavedChanges.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { checkDrift, type DriftQuestion, leftFilesOf } from "../drift/checkDrift.ts";
import {
  type DriftReport,
  driftResponse,
  type DriftResponse,
  recommendRestart,
  type RestartAdvice,
} from "../drift/DriftReport.ts";
import {
  earlierHeadOf,
  isSettled,
  knownHeadOf,
  newestTracker,
  settleAll,
  trackVersions,
  versionTrackerKey,
  type VersionTracker,
} from "../drift/VersionTracker.ts";

/** The occasion of a check. `at_end` only repeats the last notice, for a proposed rebase that was not made. */
export type DriftTrigger = "before_task_resume" | "before_commit" | "periodic" | "at_end";

/** The argument of `onDrift`. */
export interface DriftNotice {
  readonly agentId: string;
  readonly trigger: DriftTrigger;
  readonly report: DriftReport;
  readonly response: DriftResponse;
  /** The recommendation of `recommendRestart`, based on progress, severity and `preference`. */
  readonly restartDecision: RestartAdvice;
  /** The rebase after the run, if there was one. */
  readonly rebase?: RebaseResult;
  /**
   * The error of the rebase after the run. `changed` of the error lists the changes. The run is completed even if the
   * rebase failed.
   */
  readonly rebaseError?: GitError;
}

/** Options of the feature `Drift`. */
export interface DriftWatchConfig {
  /** The root of the work tree. */
  readonly root: string;
  /** Defaults to the upstream of the current branch, or to `origin/main` without an upstream. */
  readonly upstream?: string | undefined;
  /** Fetches the upstream, for example with `git fetch`. An error fails the run. Defaults to using the last fetch. */
  readonly fetch?: ((signal: AbortSignal) => PromiseLike<unknown>) | undefined;
  /**
   * Called after each check, and at the end of a run if a recommended rebase was not made. If it throws, the run fails.
   */
  readonly onDrift?: ((notice: DriftNotice) => unknown) | undefined;
  /** Milliseconds between checks within a run, at the start of a node. Defaults to 600,000 (ten minutes). */
  readonly intervalMs?: number | undefined;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
  /**
   * Offers the recovery option `rebase` for new commits, which calls `rebaseIfSafe`. To choose this option counts as
   * permission.
   */
  readonly rebase?:
    | (Pick<RebaseOptions, "test" | "committer" | "testTimeoutMs"> & Partial<Pick<RebaseOptions, "permission">>)
    | undefined;
  /**
   * Rebases after a completed run if a rebase was proposed, under the conditions of `rebaseIfSafe`. Requires `rebase`
   * with `permission`. The notice `at_end` contains the result. Defaults to `false`.
   */
  readonly autoRebase?: boolean | undefined;
  /** Overrides the recommendation after a drift. By default, high drift below 20 % progress recommends `restart`. */
  readonly preference?: RestartAdvice | undefined;
}

const configSchema = strictOptions(() => ({
  root: nonEmptyString,
  upstream: nonEmptyString.optional(),
  fetch: functionSchema().optional(),
  onDrift: functionSchema().optional(),
  intervalMs: numberFrom(0).optional(),
  clock: clockSchema.optional(),
  rebase: strictOptions(() => ({
    test: functionSchema(),
    committer: authorSchema,
    testTimeoutMs: numberFrom(0).optional(),
    permission: functionSchema().optional(),
  })).optional(),
  autoRebase: z.boolean().optional(),
  preference: z.enum(["restart", "merge_and_continue"]).optional(),
})).refine(
  (config) => {
    const { autoRebase, rebase } = config as DriftWatchConfig;
    return autoRebase !== true || rebase?.permission !== undefined;
  },
  { message: "autoRebase needs rebase.permission", path: ["rebase", "permission"] },
);

/** The answers to a run that waits because of drift. */
const driftAnswerSchema: z.ZodEnum<{ user_handled: "user_handled"; ignored: "ignored" }> = z.enum([
  "user_handled",
  "ignored",
]);

const driftNowSchema = strictOptions(() => ({ signal: abortSignalSchema.optional() }));

const defaultIntervalMs = 600_000;

/** A check that is not recorded yet. */
interface FoundDrift {
  readonly report: DriftReport;
  readonly known: VersionTracker | undefined;
  readonly found: VersionTracker;
  readonly about: Parameters<typeof trackVersions>[2];
  /** `undefined` if the run continues without an answer. */
  readonly question: string | undefined;
}

/** Checks for drift in the runs of one agent definition. */
export class DriftWatch {
  /**
   * Reports upstream commits after the checkpoint to `recoverTask(agent, { participants:
   * [agent.feature(Drift).recovery] })`, and rebases onto them if `rebase` is configured. Calls `fetch` first.
   */
  readonly recovery: RecoveryParticipant;
  readonly #config: DriftWatchConfig;
  readonly #files: WorkspaceFiles;
  readonly #clock: Clock;
  /** The time of the last check of each run in this process. */
  readonly #checked = new Map<string, number>();
  /** By run: the turns of its branches. */
  readonly #turns = new KeyedMutex();
  readonly #told = new Map<string, DriftNotice>();
  /** The tracker of each run after its last check. The storage of a branch ends with the branch. */
  readonly #found = new Map<string, VersionTracker>();

  /** @throws InvalidInputError */
  constructor(config: DriftWatchConfig) {
    checkSchema(configSchema, config, "configuration of Drift");
    this.#config = config;
    this.recovery = new UpstreamRecovery(config);
    this.#files = new WorkspaceFiles(config.root, 10 * 1024 * 1024);
    this.#clock = config.clock ?? systemClock;
  }

  /**
   * Checks at the first node of a run in this process, and then once per interval. Branches that start during a check
   * wait for its report. If the check asks or fails, each waiting branch checks too.
   */
  async checkWhenDue(context: AgentContext): Promise<void> {
    const { runId } = context;
    watchUnsaved(runId);
    const noteCheck = () => void this.#checked.set(runId, this.#clock.monotonic());
    const drift = await this.#turns.runExclusive(runId, async () => {
      const last = this.#checked.get(runId);
      const { intervalMs = defaultIntervalMs } = this.#config;
      if (last !== undefined && this.#clock.monotonic() - last < intervalMs) return undefined;
      const found = await this.#find(context, last === undefined ? "before_task_resume" : "periodic");
      if (found.question === undefined) noteCheck();
      return found;
    });
    if (!drift) return;
    await this.#record(context, drift);
    noteCheck();
  }

  /**
   * Checks now and records the result in the agent's storage. On high drift or rewritten history, the drift is recorded
   * and the run waits for the answer `user_handled` or `ignored`. Local changes exclude changes of the agent's
   * workspace up to the last checkpoint, and later changes of its file tools.
   *
   * @throws GitError
   */
  async check(context: AgentContext, trigger: DriftTrigger): Promise<DriftReport> {
    const drift = await this.#find(context, trigger);
    await this.#record(context, drift);
    return drift.report;
  }

  async #find(context: AgentContext, trigger: DriftTrigger): Promise<FoundDrift> {
    const saved = persistence(context);
    const noted = await saved.getNotes(versionTrackerKey.name);
    const stored = context.storage.get(versionTrackerKey);
    const known = newestTracker(newestTracker(stored, noted), [this.#found.get(context.runId)]);
    const checkpoints = await saved.getCheckpoints();
    const earlierHead = stored ? undefined : earlierHeadOf(checkpoints, context.runId);
    const report = await this.#look(known ? knownHeadOf(known) : earlierHead, context.signal, {
      left: leftFilesOf(checkpoints),
      unsaved: unsavedOf(context.runId),
    });
    const response = driftResponse(report);
    const restartDecision = this.#restartDecision(context, report);
    const notice = { agentId: context.agentId, trigger, report, response, restartDecision };
    await this.#config.onDrift?.(notice);
    this.#told.set(context.runId, notice);
    const about = { taskId: context.agentId, at: this.#now(), earlierHead };
    return {
      report,
      known,
      found: trackVersions(known, report, about),
      about,
      question:
        response.action === "continue" || isSettled(known, report)
          ? undefined
          : questionOf(knownHeadOf(stored) ?? earlierHead, report, response.advice, restartDecision),
    };
  }

  async #record(context: AgentContext, { report, known, found, about, question }: FoundDrift): Promise<void> {
    // The request stores this note, which must be the same when the node runs again with the answer.
    const resolution = question === undefined ? undefined : await ask(context, { known, found }, question);
    const value = resolution ? trackVersions(found, report, { ...about, resolution }) : found;
    // Other branches cannot read the storage of this branch, which ends with the branch.
    if (resolution) persistence(context).note({ key: versionTrackerKey.name, value });
    context.storage.set(versionTrackerKey, value);
    this.#found.set(context.runId, value);
  }

  /**
   * Returns the versions that an agent has worked on in its last run, with each drift and its resolution. Includes
   * agents that wait because of a drift.
   *
   * @param agent such as `persistence(agent).agent("task-1")`
   * @returns `undefined` without a check
   */
  async versions(agent: Pick<DurableAgent, "getLatestCheckpoint" | "getNotes">): Promise<VersionTracker | undefined> {
    const { name } = versionTrackerKey;
    const checkpoint = await agent.getLatestCheckpoint();
    return newestTracker(checkpoint?.storage[name], await agent.getNotes(name));
  }

  #restartDecision(context: AgentContext, { severity }: DriftReport): RestartAdvice {
    const { progress = 0 } = runOf(context).state;
    return recommendRestart({ progress, severity, preference: this.#config.preference });
  }

  /**
   * Compares the repository with its upstream outside a run. Records nothing, makes no requests and does not call
   * `onDrift`. Changes of agents count as local changes.
   *
   * @param options.signal aborts the check
   * @throws GitError
   */
  async driftNow(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<DriftReport> {
    checkSchema(driftNowSchema, options, "options of driftNow()");
    return this.#look(undefined, options.signal ?? new AbortController().signal);
  }

  /**
   * Keeps the tracker, checks the upstream again and resolves open events as `task_restarted`, as `prepareStorage` of a
   * restart.
   *
   * @throws GitError, which refuses the restart
   */
  readonly prepareStorage = async (storage: AgentStorage, agentId: string): Promise<void> => {
    const known = storage.get(versionTrackerKey);
    const report = await this.#look(knownHeadOf(known), new AbortController().signal);
    // The local changes of the task are about to be reverted.
    const upstream = { ...report, localFiles: [] };
    const tracker = trackVersions(known, upstream, { taskId: agentId, at: this.#now() });
    storage.set(versionTrackerKey, settleAll(tracker, "task_restarted"));
  };

  /** Rebases at the end of a run if configured. If a recommended rebase was not made, repeats the last notice. */
  async end({ runId, state }: Pick<AgentRun, "runId" | "state">): Promise<void> {
    const told = this.#told.get(runId);
    this.forget(runId);
    if (told?.response.action !== "continue" || told.response.rebase === undefined) return;
    if (isSettled(state.storage.get(versionTrackerKey), told.report)) return;
    await this.#config.onDrift?.({ ...told, trigger: "at_end", ...(await this.#rebaseAfter(told.report)) });
  }

  async #rebaseAfter({ upstreamHead }: DriftReport): Promise<Pick<DriftNotice, "rebase" | "rebaseError">> {
    const { root, upstream, autoRebase, rebase, clock } = this.#config;
    if (autoRebase !== true || rebase?.permission === undefined) return {};
    const { permission } = rebase;
    const known = { upstream, knownUpstreamHead: upstreamHead };
    try {
      return { rebase: await rebaseIfSafe({ ...rebase, ...known, root, enabled: true, permission, clock }) };
    } catch (error) {
      if (error instanceof GitError) return { rebaseError: error };
      throw error;
    }
  }

  forget(runId: string): void {
    this.#checked.delete(runId);
    this.#told.delete(runId);
    this.#found.delete(runId);
    forgetUnsaved(runId);
  }

  async #look(
    knownUpstreamHead: string | undefined,
    signal: AbortSignal,
    own: Pick<DriftQuestion, "left" | "unsaved"> = {},
  ): Promise<DriftReport> {
    const { upstream, fetch } = this.#config;
    await fetch?.(signal);
    return checkDrift({ files: this.#files, upstream, knownUpstreamHead, ...own, signal });
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/**
 * The feature that checks for drift when a run starts or resumes, and every ten minutes. Install it after
 * `Persistence`. `onDrift` receives every result. On high drift or rewritten history the run waits for an answer.
 *
 * @example
 * ```ts
 * agent.install(Persistence, { storage });
 * agent.install(Drift, { root: ".", onDrift: ({ report }) => console.log(report.severity) });
 * ```
 */
export const Drift: AgentFeature<DriftWatchConfig, DriftWatch> = {
  key: "drift",
  install(pipeline, config) {
    const watch = new DriftWatch(config);
    pipeline.aroundNode(async (event, next) => {
      await watch.checkWhenDue(event.context);
      return next(event);
    });
    pipeline.onAgentCompleted(({ run }) => watch.end(run));
    pipeline.onAgentFailed(({ run }) => watch.forget(run.runId));
    pipeline.onAgentWaiting(({ run }) => watch.forget(run.runId));
    return watch;
  },
};

const recommendations: Readonly<Record<RestartAdvice, string>> = {
  restart: "Recommended: start the task again, since little of it is done.",
  merge_and_continue: "Recommended: merge the changes and continue.",
};

/** Builds the question for a person: the old and the new upstream commits, and whether to restart. */
function questionOf(
  before = "not known",
  { upstreamHead = "" }: DriftReport,
  advice: string,
  restartDecision: RestartAdvice,
): string {
  return `${advice}\n${recommendations[restartDecision]}\nUpstream at the last check: ${before}; now: ${upstreamHead}.`;
}

/**
 * Records the drift before the request. The request id contains both heads, so that an answer resolves only this drift.
 */
function ask(
  context: AgentContext,
  drift: { readonly known: VersionTracker | undefined; readonly found: VersionTracker },
  prompt: string,
): Promise<"user_handled" | "ignored"> {
  const { known, found } = drift;
  if (found.drift_events.length > (known?.drift_events.length ?? 0))
    persistence(context).note({ key: versionTrackerKey.name, value: found });
  return context.requestInput({
    id: `drift ${found.current_head} ${found.upstream_head}`,
    prompt,
    schema: driftAnswerSchema,
    waitingFor: "user_input",
  });
}
