import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { RecoveryRefusedError } from "../../errors/checkpointErrors.ts";
import type { EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import type { RecoveredAgent, RecoveryOption, RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { checkDrift } from "../drift/checkDrift.ts";
import type { DriftReport } from "../drift/DriftReport.ts";
import {
  knownHeadOf,
  newestTracker,
  trackVersions,
  type VersionTracker,
  versionTrackerKey,
} from "../drift/VersionTracker.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { rebaseIfSafe, refusalFor, type RebaseOptions } from "./rebaseIfSafe.ts";

/** The configuration of {@link UpstreamRecovery}. */
export interface UpstreamRecoveryConfig {
  readonly root: string;
  readonly upstream?: string | undefined;
  readonly fetch?: ((signal: AbortSignal) => PromiseLike<unknown>) | undefined;
  readonly rebase?: Pick<RebaseOptions, "test" | "committer" | "testTimeoutMs"> | undefined;
  readonly clock?: Clock | undefined;
}

const maximumFileBytes = 10 * 1024 * 1024;

/** Reports new upstream commits since a checkpoint, and rebases onto them. */
export class UpstreamRecovery implements RecoveryParticipant {
  readonly #config: UpstreamRecoveryConfig;
  readonly #files: WorkspaceFiles;
  readonly #reports = new WeakMap<EnvironmentMismatch, DriftReport>();

  constructor(config: UpstreamRecoveryConfig) {
    this.#config = config;
    this.#files = new WorkspaceFiles(config.root, maximumFileBytes);
  }

  /** @throws GitError */
  async findMismatches(
    checkpoint: AgentCheckpointData,
    agent: RecoveredAgent,
  ): Promise<readonly EnvironmentMismatch[]> {
    const { upstream, fetch } = this.#config;
    if (!(await this.#files.hasRoot())) return [{ kind: "working_directory_missing", path: this.#files.root }];
    await fetch?.(new AbortController().signal);
    const knownUpstreamHead = knownHeadOf(await trackerOf(checkpoint, agent));
    const report = await checkDrift({ files: this.#files, upstream, knownUpstreamHead });
    if (!isNew(report, knownUpstreamHead)) return [];
    const mismatch = { kind: "new_commits_upstream", detail: describe(report) } as const;
    this.#reports.set(mismatch, report);
    return [mismatch];
  }

  optionsFor(mismatch: EnvironmentMismatch): readonly RecoveryOption[] {
    const report = this.#reports.get(mismatch);
    if (report === undefined) return [];
    return this.#config.rebase && refusalFor(report) === undefined ? ["ignore", "rebase"] : ["ignore"];
  }

  /** Records the settled commits before the run continues, for the next check. */
  async prepare(
    mismatch: EnvironmentMismatch,
    option: RecoveryOption,
    checkpoint: AgentCheckpointData,
    agent: RecoveredAgent,
  ): Promise<() => Promise<void>> {
    return async () => {
      const known = await trackerOf(checkpoint, agent);
      if (option === "rebase") await this.#rebase(checkpoint.agentId, knownHeadOf(known));
      const report = this.#reports.get(mismatch);
      if (report === undefined) return;
      const at = new Date((this.#config.clock ?? systemClock).now()).toISOString();
      const about = {
        taskId: checkpoint.agentId,
        at,
        resolution: option === "rebase" ? "rebased" : "ignored",
      } as const;
      const value = trackVersions(known, { ...report, localFiles: [] }, about);
      await agent.note({ key: versionTrackerKey.name, value });
    };
  }

  /** Rebases without a question, because this option grants the permission. @throws RecoveryRefusedError, GitError */
  async #rebase(agentId: string, knownUpstreamHead: string | undefined): Promise<void> {
    const { root, upstream, rebase, clock } = this.#config;
    if (!rebase)
      throw new RecoveryRefusedError(agentId, "no rebase is configured; set `rebase` in the configuration of Drift");
    const result = await rebaseIfSafe({
      ...rebase,
      root,
      enabled: true,
      permission: () => true,
      upstream,
      knownUpstreamHead,
      clock,
    });
    if (!result.rebased) throw new RecoveryRefusedError(agentId, `nothing could be rebased (${result.reason})`);
  }
}

async function trackerOf({ storage }: AgentCheckpointData, agent: RecoveredAgent): Promise<VersionTracker | undefined> {
  const { name } = versionTrackerKey;
  return newestTracker(storage[name], await agent.getNotes(name));
}

function isNew({ commitsBehind, rewritten, upstreamHead }: DriftReport, known: string | undefined): boolean {
  return rewritten || (commitsBehind > 0 && upstreamHead !== known);
}

function describe({ upstream, commitsBehind, rewritten, conflictingFiles }: DriftReport): string {
  if (rewritten) return `the history of ${upstream} was rewritten`;
  const both = conflictingFiles.length > 0 ? `, and both sides changed ${conflictingFiles.join(", ")}` : "";
  return `${upstream} has new commits that are not here (${commitsBehind})${both}`;
}
