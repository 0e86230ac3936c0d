import { z } from "zod";
import type { AgentContext, AgentStorage } from "../../agent/context/AgentContext.ts";
import type { AgentFeature } from "../../agent/feature/AgentFeature.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { numberFrom, clockSchema, functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { RecoveryParticipant } from "../../persistence/environment/RecoveryParticipant.ts";
import { authorSchema } from "../git/commitFiles.ts";
import type { RebaseOptions } from "../rebase/rebaseIfSafe.ts";
import { UpstreamRecovery } from "../rebase/UpstreamRecovery.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { checkDrift } from "../drift/checkDrift.ts";
import type { DriftReport } from "../drift/DriftReport.ts";
import { driftResponse, type DriftResponse } from "../drift/driftResponse.ts";
import { leftFilesOf, type LeftFiles } from "../drift/LeftFiles.ts";
import {
  isSettled,
  settleAll,
  trackVersions,
  versionTrackerKey,
  type VersionTracker,
} from "../drift/VersionTracker.ts";

/**
 * When a drift was looked for. `at_end` is no check: a run that has come to its end, with a rebase proposed that nobody
 * made, is told the last check of it again.
 */
export type DriftTrigger = "before_task_resume" | "before_commit" | "periodic" | "at_end";

/** What is told of each check. */
export interface DriftNotice {
  readonly agentId: string;
  readonly trigger: DriftTrigger;
  readonly report: DriftReport;
  readonly response: DriftResponse;
}

/** How drift is watched. */
export interface DriftWatchConfig {
  /** The folder of the repository's work tree. */
  readonly root: string;
  /** Default: the upstream of the branch that is checked out, else `origin/main`. */
  readonly upstream?: string | undefined;
  /** Brings the upstream's commits here, such as your own `git fetch`; what it throws fails the run. Default: what somebody fetched last counts. */
  readonly fetch?: ((signal: AbortSignal) => PromiseLike<void>) | undefined;
  /** Told of each check before anything follows from it, and of a rebase to make at the end; what it throws fails the run. */
  readonly onDrift?: ((notice: DriftNotice) => PromiseLike<void> | void) | undefined;
  /** Milliseconds between checks within a run, at the start of a node. Default: 600,000, ten minutes. */
  readonly intervalMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /**
   * Lets a recovery offer `rebase` for new commits, by `rebaseIfSafe`; whoever chooses it gives the permission. Default: it
   * is not offered.
   */
  readonly rebase?: Pick<RebaseOptions, "test" | "committer"> | undefined;
}

const configSchema = strictOptions({
  root: nonEmptyString,
  upstream: nonEmptyString.optional(),
  fetch: functionSchema().optional(),
  onDrift: functionSchema().optional(),
  intervalMs: numberFrom(0).optional(),
  clock: clockSchema.optional(),
  rebase: strictOptions({ test: functionSchema(), committer: authorSchema }).optional(),
});

/** The answers to a run that waits because of a drift. */
export const driftAnswerSchema: z.ZodEnum<{ user_handled: "user_handled"; ignored: "ignored" }> = z.enum([
  "user_handled",
  "ignored",
]);

const defaultIntervalMs = 600_000;

/** Looks for drift on behalf of one agent definition. */
export class DriftWatch {
  /**
   * Tells `recoverTask(agent, { participants: [agent.feature(Drift).recovery] })` of commits that the upstream got after the
   * checkpoint, and rebases onto them where `rebase` is configured. It fetches by `fetch`, as a check does.
   */
  readonly recovery: RecoveryParticipant;
  readonly #config: DriftWatchConfig;
  readonly #files: WorkspaceFiles;
  readonly #clock: Clock;
  /** When this process looked at each run last. */
  readonly #checked = new Map<string, number>();
  /** What it was told of each run last. */
  readonly #told = new Map<string, DriftNotice>();

  /** @throws InvalidInputError */
  constructor(config: DriftWatchConfig) {
    checkSchema(configSchema, config, "configuration of Drift");
    this.#config = config;
    this.recovery = new UpstreamRecovery(config);
    this.#files = new WorkspaceFiles(config.root, 10 * 1024 * 1024);
    this.#clock = config.clock ?? systemClock;
  }

  /** Checks if it is time to: at the first node that this process runs of a run, and then in the interval. */
  async checkWhenDue(context: AgentContext): Promise<void> {
    const last = this.#checked.get(context.runId);
    const { intervalMs = defaultIntervalMs } = this.#config;
    if (last !== undefined && this.#clock.monotonic() - last < intervalMs) return;
    await this.check(context, last === undefined ? "before_task_resume" : "periodic");
    this.#checked.set(context.runId, this.#clock.monotonic());
  }

  /**
   * Checks now, keeps what was found in the agent's storage, and asks somebody when the task has to stop for it: the run
   * then ends as `waiting` until it is answered with `user_handled` or `ignored`. What the agent's workspace has changed
   * up to the last checkpoint does not count as a local change.
   *
   * @throws GitError
   */
  async check(context: AgentContext, trigger: DriftTrigger): Promise<DriftReport> {
    const known = context.storage.get(versionTrackerKey);
    const left = leftFilesOf(await persistence(context).getCheckpoints());
    const report = await this.#look(known, context.signal, left);
    const response = driftResponse(report);
    const notice = { agentId: context.agentId, trigger, report, response };
    await this.#config.onDrift?.(notice);
    this.#told.set(context.runId, notice);
    const hasToAsk = response.action !== "go_on" && !isSettled(known, report);
    const resolution = hasToAsk ? await ask(context, report, response.advice) : undefined;
    const about = { taskId: context.agentId, at: this.#now(), ...(resolution && { resolution }) };
    context.storage.set(versionTrackerKey, trackVersions(known, report, about));
    return report;
  }

  /**
   * For the `prepareStorage` of a restart: the tracker outlives it, with what the upstream has now, and what nobody settled
   * before as `task_restarted`.
   *
   * @throws GitError, which refuses the restart.
   */
  readonly prepareStorage = async (storage: AgentStorage, agentId: string): Promise<void> => {
    const known = storage.get(versionTrackerKey);
    const report = await this.#look(known, new AbortController().signal);
    // What the task itself left in the work tree is about to be taken back.
    const upstream = { ...report, localFiles: [] };
    const tracker = trackVersions(known, upstream, { taskId: agentId, at: this.#now() });
    storage.set(versionTrackerKey, settleAll(tracker, "task_restarted"));
  };

  /** Tells again of a rebase that was proposed for the end of a run, unless it was made. */
  async end({ runId, state }: Pick<AgentRun, "runId" | "state">): Promise<void> {
    const told = this.#told.get(runId);
    this.forget(runId);
    if (told?.response.action !== "go_on" || told.response.rebase === undefined) return;
    if (isSettled(state.storage.get(versionTrackerKey), told.report)) return;
    await this.#config.onDrift?.({ ...told, trigger: "at_end" });
  }

  /** Forgets a run that has ended here. */
  forget(runId: string): void {
    this.#checked.delete(runId);
    this.#told.delete(runId);
  }

  async #look(known: VersionTracker | undefined, signal: AbortSignal, left?: LeftFiles): Promise<DriftReport> {
    const { upstream, fetch } = this.#config;
    await fetch?.(signal);
    return checkDrift({
      files: this.#files,
      ...(upstream !== undefined && { upstream }),
      ...(known && known.upstream_head !== "" && { knownUpstreamHead: known.upstream_head }),
      ...(left && { left }),
      signal,
    });
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/**
 * Watches for drift before a run goes on and every ten minutes of it: `agent.install(Drift, { root: "." })`, after
 * Persistence. Low and medium drift is told to `onDrift`; high drift and rewritten history make the run wait for an answer.
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

/** Asked under the heads that it is about, so that an answer settles these and no later ones. */
function ask(
  context: AgentContext,
  { head, upstreamHead }: DriftReport,
  advice: string,
): Promise<"user_handled" | "ignored"> {
  return context.requestInput({
    id: `drift ${head} ${upstreamHead}`,
    prompt: advice,
    schema: driftAnswerSchema,
    waitingFor: "user_input",
  });
}
