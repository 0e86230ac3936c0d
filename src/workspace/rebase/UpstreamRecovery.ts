import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { RecoveryRefusedError } from "../../errors/checkpoint/RecoveryRefusedError.ts";
import type { EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import type { RecoveryOption, RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import { checkDrift } from "../drift/checkDrift.ts";
import type { DriftReport } from "../drift/DriftReport.ts";
import { type DriftResolution, knownHeadOf, versionTrackerKey } from "../drift/VersionTracker.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { rebaseIfSafe, refusalFor, type RebaseOptions } from "./rebaseIfSafe.ts";

/** How a recovery checks the upstream. */
export interface UpstreamRecoveryConfig {
  readonly root: string;
  readonly upstream?: string | undefined;
  readonly fetch?: ((signal: AbortSignal) => PromiseLike<void>) | undefined;
  readonly rebase?: Pick<RebaseOptions, "test" | "committer" | "testTimeoutMs"> | undefined;
}

/** A drift that was settled while its run was stopped. */
export interface SettledDrift {
  readonly report: DriftReport;
  readonly resolution: DriftResolution;
}

const maximumFileBytes = 10 * 1024 * 1024;

/** Reports commits that the upstream got after a checkpoint, and rebases onto them. */
export class UpstreamRecovery implements RecoveryParticipant {
  readonly #config: UpstreamRecoveryConfig;
  readonly #files: WorkspaceFiles;
  readonly #reports = new WeakMap<EnvironmentMismatch, DriftReport>();
  readonly #settled = new Map<string, SettledDrift>();

  constructor(config: UpstreamRecoveryConfig) {
    this.#config = config;
    this.#files = new WorkspaceFiles(config.root, maximumFileBytes);
  }

  /** @throws GitError */
  async findMismatches(checkpoint: AgentCheckpointData): Promise<readonly EnvironmentMismatch[]> {
    const { upstream, fetch } = this.#config;
    await fetch?.(new AbortController().signal);
    const knownUpstreamHead = upstreamHeadAt(checkpoint);
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

  async prepare(
    mismatch: EnvironmentMismatch,
    option: RecoveryOption,
    checkpoint: AgentCheckpointData,
  ): Promise<() => Promise<void>> {
    return async () => {
      if (option === "rebase") await this.#rebase(checkpoint);
      const report = this.#reports.get(mismatch);
      const resolution = option === "rebase" ? "rebased" : "ignored";
      if (report) this.#settled.set(checkpoint.agentId, { report, resolution });
    };
  }

  /** What a recovery in this process settled for an agent whose run has not recorded it yet. */
  settledFor(agentId: string): SettledDrift | undefined {
    return this.#settled.get(agentId);
  }

  /** The run has recorded what was settled. */
  recorded(agentId: string): void {
    this.#settled.delete(agentId);
  }

  /** Choosing this option gives the permission. @throws RecoveryRefusedError, GitError */
  async #rebase(checkpoint: AgentCheckpointData): Promise<void> {
    const { root, upstream, rebase } = this.#config;
    if (!rebase)
      throw new RecoveryRefusedError(
        checkpoint.agentId,
        "no rebase is configured; set `rebase` in the configuration of Drift",
      );
    const knownUpstreamHead = upstreamHeadAt(checkpoint);
    const result = await rebaseIfSafe({
      ...rebase,
      root,
      enabled: true,
      permission: () => true,
      upstream,
      knownUpstreamHead,
    });
    if (!result.rebased)
      throw new RecoveryRefusedError(checkpoint.agentId, `nothing could be rebased (${result.reason})`);
  }
}

/** The upstream head at the last check before the checkpoint; `undefined`: there was no check. */
function upstreamHeadAt({ storage }: AgentCheckpointData): string | undefined {
  const tracker = versionTrackerKey.schema.safeParse(storage[versionTrackerKey.name]);
  return knownHeadOf(tracker.data);
}

function isNew({ commitsBehind, rewritten, upstreamHead }: DriftReport, known: string | undefined): boolean {
  return rewritten || (commitsBehind > 0 && upstreamHead !== known);
}

function describe({ upstream, commitsBehind, rewritten, conflictingFiles }: DriftReport): string {
  if (rewritten) return `the history of ${upstream} was rewritten`;
  const both = conflictingFiles.length > 0 ? `, and both sides changed ${conflictingFiles.join(", ")}` : "";
  return `${upstream} has new commits that are not here (${commitsBehind})${both}`;
}
