import type { FeaturePipeline } from "../agent/FeaturePipeline.ts";
import type { StrategyGraph } from "../agent/StrategyGraph.ts";
import type { AnyTool, ToolEffect } from "../agent/Tool.ts";
import { defaultInlineThresholdBytes } from "../checkpoint/SlotWriter.ts";
import { systemClock, type Clock } from "../internal/Clock.ts";
import type { Sha256 } from "../internal/Sha256.ts";
import { platformSha256 } from "../internal/platformSha256.ts";
import { Journal } from "../journal/Journal.ts";
import { CheckpointRecordLog } from "../storage/checkpoints/CheckpointRecordLog.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import { NoPersistenceStorageProvider } from "../storage/none/NoPersistenceStorageProvider.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import type { PersistenceConfig } from "./PersistenceConfig.ts";
import { RollbackToolRegistry } from "./RollbackToolRegistry.ts";

const defaultAbortGraceMs = 5_000;

/** One log for each provider of three methods, so that two agents on it see each other. */
const checkpointLogs = new WeakMap<object, RecordLog>();

/** An agent definition and how it is made durable: what every durable operation needs to know. */
export class PersistenceSetup {
  readonly provider: PersistenceStorageProvider<never>;
  readonly log: RecordLog;
  readonly automatic: boolean;
  readonly registry: RollbackToolRegistry;
  readonly abortGraceMs: number;
  readonly clock: Clock;
  readonly agentId: string;
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;

  constructor(config: PersistenceConfig, pipeline: FeaturePipeline) {
    this.provider = config.storage ?? new NoPersistenceStorageProvider();
    this.log = logOf(this.provider);
    this.automatic = config.enableAutomaticPersistence ?? true;
    this.registry = config.rollbackToolRegistry ?? new RollbackToolRegistry();
    this.abortGraceMs = config.abortGraceMs ?? defaultAbortGraceMs;
    this.clock = config.clock ?? systemClock;
    this.agentId = pipeline.agentId;
    this.graph = pipeline.graph;
    this.tools = pipeline.tools;
  }

  sha256(): Promise<Sha256> {
    return this.provider instanceof LogPersistenceStorageProvider ? this.provider.sha256() : platformSha256();
  }

  async openJournal(agentId: string): Promise<Journal> {
    const { log, clock } = this;
    return Journal.open({
      log,
      agentId,
      clock,
      sha256: await this.sha256(),
      inlineThresholdBytes: this.#inlineThresholdBytes,
    });
  }

  /** What a crash in the middle of a call of this tool means. */
  effectOf(tool: AnyTool): ToolEffect {
    return tool.effect ?? (this.registry.has(tool.name) ? "reversible" : "irreversible");
  }

  get #inlineThresholdBytes(): number {
    if (this.provider instanceof LogPersistenceStorageProvider) return this.provider.inlineThresholdBytes;
    return this.log instanceof CheckpointRecordLog ? Infinity : defaultInlineThresholdBytes;
  }
}

function logOf(provider: PersistenceStorageProvider<never>): RecordLog {
  if (provider instanceof LogPersistenceStorageProvider) return provider.log;
  const known = checkpointLogs.get(provider);
  if (known) return known;
  const log = new CheckpointRecordLog(provider);
  checkpointLogs.set(provider, log);
  return log;
}
