import { defaultMaxCheckpointBytes } from "../../checkpoint/data/checkpointParts.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { asToolOf, subAgentOf } from "../../agent/agentAsTool/agentAsTool.ts";
import type { ApprovalVerifier } from "../../signedApprovals/signedApprovals.ts";
import { type AbortGrace, defaultAbortGrace, type FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import type { AnyTool, ToolEffect } from "../../agent/tool/Tool.ts";
import { DefaultIdSharedError, InvalidInputError } from "../../errors/agentErrors.ts";
import { PruningNotSupportedError } from "../../errors/storageErrors.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warn, warnOnce } from "../../internal/warn.ts";
import { Journal, type JournalOptions } from "../../journal/Journal.ts";
import type { Inbox } from "../../journal/inbox/Inbox.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import type { RollbackParticipant } from "../../journal/RollbackParticipant.ts";
import type { PersistenceStorageProvider, LogStorage } from "../../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { logStorageOf } from "../../storage/checkpoints/CheckpointRecordLog.ts";
import { NoPersistenceStorageProvider } from "../../storage/none/NoPersistenceStorageProvider.ts";
import type { Redactor } from "../../redaction/redaction.ts";
import type { AgentTelemetry } from "../../telemetry/AgentTelemetry.ts";
import type { OnToolCallInDoubt, ToolCallSettlement } from "../../doubt/ToolCallInDoubt.ts";
import type { Environment } from "../../environment/EnvironmentMismatch.ts";
import { emitAppended, type EmitEvent, emitOpened, eventEmitter } from "../../listeners/eventEmitter.ts";
import type { EventBody } from "../../listeners/PersistenceEvent.ts";
import { type InverseRetry, RollbackToolRegistry } from "../inverses/RollbackToolRegistry.ts";
import { triggers, type CheckpointTrigger } from "./triggers.ts";
import {
  type ConfiguredParticipant,
  type PersistenceConfig,
  persistenceConfigSchema,
  type TrimmingPolicy,
} from "./PersistenceConfig.ts";
import { fullRetention, type FullRetentionPolicy } from "./RetentionPolicy.ts";
import { type Code, codeOf } from "../versions/CodeStructure.ts";
import { Migrations } from "../versions/Migrations.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { z } from "zod";
import { setNewest } from "../../internal/deleteOldest.ts";

const noStorage =
  "Persistence has no storage and stores nothing. Set `storage` to new " +
  'FilePersistenceStorageProvider() of "agent-persistence/file" or new NoPersistenceStorageProvider().';

/** The first definition that used the default id, by storage. */
const defaultIdentities = new WeakMap<object, string>();

const defaults = {
  enableAutomaticPersistence: true,
  triggers: [triggers.afterNode()],
  participants: [],
  inverseRetry: {},
  onToolCallInDoubt: "ask",
  maxCheckpointBytes: defaultMaxCheckpointBytes,
  sleepInProcessMs: 5_000,
  clock: systemClock,
} as const;

const setups = new WeakMap<object, PersistenceSetup>();

/** Returns the setup of an agent definition, or `undefined` without Persistence. */
export const setupOf = (pipeline: object): PersistenceSetup | undefined => setups.get(pipeline);

function ofCaller(caller: PersistenceSetup | undefined) {
  if (!caller) return undefined;
  const { clock, participants, inverseRetry, approvals, redact } = caller;
  return { clock, participants, inverseRetry, approvals, redact };
}

function retentionOf(
  { retention, retentionSchedule }: PersistenceConfig,
  log: RecordLog,
): FullRetentionPolicy | undefined {
  if (retention || retentionSchedule) assertPrunable(log, "Retention");
  return retention && fullRetention(retention);
}

function checkedConfig(config: PersistenceConfig, pipeline: FeaturePipeline, caller?: PersistenceSetup) {
  checkSchema(persistenceConfigSchema, config, "configuration of Persistence");
  return (caller ?? config).redact?.apply(config, pipeline) ?? config;
}

function storageOf({ storage: given }: PersistenceConfig): Pick<PersistenceSetup, "storage" | "storageKey"> {
  const provider = given ?? new NoPersistenceStorageProvider();
  return { storage: logStorageOf(provider), storageKey: provider };
}

function tellerOf(own: EmitEvent | undefined, caller: PersistenceSetup | undefined): EmitEvent {
  if (!caller) return own ?? warnOfFailure;
  return (event) => {
    caller.tell(event);
    own?.(event);
  };
}

export class PersistenceSetup {
  readonly storage: LogStorage;
  readonly log: RecordLog;
  /** The storage provider from the configuration. Agents that share a storage share this object. */
  readonly storageKey: PersistenceStorageProvider;
  readonly automatic: boolean;
  readonly triggers: readonly CheckpointTrigger[];
  readonly environment: Environment | undefined;
  readonly registry: RollbackToolRegistry;
  readonly participants: readonly ConfiguredParticipant[];
  readonly participantTools: ReadonlySet<string>;
  readonly onToolCallInDoubt: OnToolCallInDoubt;
  readonly maxCheckpointBytes: number;
  readonly sleepInProcessMs: number;
  readonly trimming: TrimmingPolicy | undefined;
  readonly telemetry: AgentTelemetry | undefined;
  readonly approvals: ApprovalVerifier | undefined;
  readonly redact: Redactor | undefined;
  readonly inverseRetry: InverseRetry;
  /** `undefined` if only `prune()` prunes. */
  readonly retention: FullRetentionPolicy | undefined;
  readonly cappedNow: () => number;
  readonly clock: Clock;
  readonly agentId: string;
  readonly pipeline: FeaturePipeline;
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly migrations: Migrations;
  readonly askedSchemas: RequestSchemas;
  readonly tell: EmitEvent;
  /** Functions that remove the data of a deleted agent outside the log. */
  readonly removals: ((agentId: string) => Promise<void>)[] = [];
  readonly #emit: EmitEvent | undefined;
  readonly #config: PersistenceConfig;
  readonly #isStored: boolean;
  readonly #nested = new Map<object, PersistenceSetup>();
  readonly #defaultIdentity: string | undefined;
  lastAgentId: string;

  constructor(installed: PersistenceConfig, pipeline: FeaturePipeline, caller?: PersistenceSetup) {
    const config = checkedConfig(installed, pipeline, caller);
    const rollbackToolRegistry = new RollbackToolRegistry();
    const given = { ...defaults, rollbackToolRegistry, ...withoutUndefined(config), ...ofCaller(caller) };
    this.#config = config;
    this.pipeline = pipeline;
    this.#isStored = config.storage !== undefined;
    ({ storage: this.storage, storageKey: this.storageKey } = caller ?? storageOf(config));
    this.log = this.storage.log;
    this.automatic = given.enableAutomaticPersistence;
    this.triggers = this.automatic ? given.triggers : [];
    this.environment = config.environment;
    this.registry = given.rollbackToolRegistry;
    this.participants = given.participants;
    this.participantTools = new Set(this.participants.flatMap(({ tools = [] }) => tools.map(({ name }) => name)));
    this.inverseRetry = given.inverseRetry;
    this.onToolCallInDoubt = given.onToolCallInDoubt;
    this.maxCheckpointBytes = given.maxCheckpointBytes;
    this.sleepInProcessMs = given.sleepInProcessMs;
    this.trimming = config.trimming;
    this.approvals = given.approvals;
    this.redact = given.redact;
    this.telemetry = caller?.telemetry ?? config.telemetry?.agents;
    this.retention = caller ? undefined : retentionOf(config, this.log);
    this.askedSchemas = caller?.askedSchemas ?? new RequestSchemas();
    this.clock = given.clock;
    this.cappedNow = cappedNow(this.clock);
    this.agentId = this.lastAgentId = pipeline.agentId;
    this.#defaultIdentity = pipeline.hasDefaultId ? pipeline.identity : undefined;
    this.graph = pipeline.graph;
    this.tools = pipeline.tools;
    this.migrations = new Migrations(config.migrations ?? [], this.graph, {
      has: (name) => this.toolNamed(name) !== undefined,
      names: [...this.tools.keys()],
    });
    this.#emit = eventEmitter(this.clock, config.onEvent, config.onListenerError);
    this.tell = tellerOf(this.#emit, caller);
    assertParticipants(this.participants, this.log);
    if (!caller) setups.set(pipeline, this);
  }

  /** Returns the setup of the sub-agent at a path of tool names. `undefined` if a tool of the path is missing. */
  at(agentPath: readonly string[]): PersistenceSetup | undefined {
    const [name, ...rest] = agentPath;
    if (name === undefined) return this;
    const agent = this.migrations
      .toolNames(name)
      .map((each) => subAgentOf(this.tools.get(each) ?? asToolOf(this.pipeline, each) ?? {}))
      .find((each) => each !== undefined);
    return agent && this.nested(agent.definition.pipeline.hooks)?.at(rest);
  }

  /** Returns the inboxes of the storage. Their code is loaded on first use. */
  async inbox(): Promise<Inbox> {
    return (await import("../../journal/inbox/Inbox.ts")).Inbox.of(this.storage);
  }

  /** Deletes the data of a deleted agent outside its log. */
  async dropBeside(agentId: string): Promise<void> {
    await (await this.inbox()).drop(agentId);
    for (const remove of this.removals) await remove(agentId);
  }

  code(sha256: Sha256): Code {
    return codeOf(this.pipeline, sha256);
  }

  nested(pipeline: object): PersistenceSetup | undefined {
    const own = setups.get(pipeline);
    const nested = this.#nested.get(pipeline) ?? (own && new PersistenceSetup(own.#config, own.pipeline, this));
    if (nested) this.#nested.set(pipeline, nested);
    return nested;
  }

  get abortGrace(): AbortGrace {
    return { ms: this.#config.abortGraceMs ?? defaultAbortGrace.ms, clock: this.clock };
  }

  /** Rejects the default id if another definition uses it with the same storage. @throws DefaultIdSharedError */
  takeId(agentId: string): void {
    const identity = this.#defaultIdentity;
    if (identity === undefined || agentId !== this.agentId) return;
    const first = defaultIdentities.get(this.storageKey) ?? identity;
    if (first !== identity) throw new DefaultIdSharedError(agentId);
    defaultIdentities.set(this.storageKey, first);
  }

  /** @param mustExist False if the caller accepts a new agent. */
  openJournal(agentId: string, custody?: JournalOptions["custody"], mustExist = true): Promise<Journal> {
    const open = () => this.#openJournal(agentId, custody, mustExist);
    return this.telemetry?.open(agentId, open) ?? open();
  }

  async #openJournal(agentId: string, custody: JournalOptions["custody"], mustExist: boolean): Promise<Journal> {
    const { storage, clock, maxCheckpointBytes } = this;
    // A sub-agent uses the storage of its caller, so that only other agents get this warning.
    if (!this.#isStored) warnOnce("no_storage", noStorage);
    this.lastAgentId = agentId;
    const listener = this.#hasListener() ? emitAppended(agentId, (event) => this.#tellAlong(event)) : undefined;
    const options = { storage, agentId, clock, maxCheckpointBytes, custody, mustExist };
    const journal = await Journal.open({ ...options, ...(listener && { listener }) });
    if (this.#emit) emitOpened(journal, this.#emit);
    return journal;
  }

  #hasListener(asked: ReadonlySet<object> = new Set()): boolean {
    if (this.#emit) return true;
    if (asked.has(this.pipeline)) return false;
    const around = new Set([...asked, this.pipeline]);
    return [...this.tools.keys()].some((name) => {
      const called = this.at([name]);
      return called !== undefined && called.#hasListener(around);
    });
  }

  #tellAlong(event: EventBody): void {
    this.#emit?.(event);
    const path = ("agentPath" in event && event.agentPath) || [];
    for (const depth of path.keys()) {
      const called = this.at(path.slice(0, depth + 1));
      if (called) called.#emit?.(event);
    }
  }

  nowNamed(call: LoggedCall): LoggedCall {
    const tool = this.at(call.agentPath)?.migrations.toolNow(call.tool, call.version) ?? call.tool;
    return tool === call.tool ? call : { ...call, tool };
  }

  /** Returns a settlement without the redacted values of its output. */
  redacted(call: LoggedCall, settlement: ToolCallSettlement): ToolCallSettlement {
    return this.redact && typeof settlement === "object" && "output" in settlement
      ? { output: this.redact.output(this.nowNamed(call).tool, settlement.output) }
      : settlement;
  }

  hasInverse(call: LoggedCall): boolean {
    return this.at(call.agentPath)?.registry.has(this.nowNamed(call).tool) === true;
  }

  /** Returns the current tool of a recorded call. `undefined` if the agent has no tool with this name. */
  toolNamed(name: string): AnyTool | undefined {
    return this.tools.get(name) ?? this.registry.inverseOf(name)?.tool;
  }

  effectOf(tool: AnyTool): ToolEffect {
    return tool.effect ?? (this.registry.has(tool.name) ? "reversible" : "irreversible");
  }
}

function assertParticipants(participants: readonly RollbackParticipant[], log: RecordLog): void {
  const keys = participants.map(({ key }) => key);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) throw wrongParticipants(`keys that differ; two have the key "${twice}"`);
  if (keys.length > 0 && log.capabilities.keeps === "checkpoints")
    throw wrongParticipants(`a storage with a log for "${keys[0]}"; this provider has three methods`);
}

function wrongParticipants(expected: string): InvalidInputError {
  return new InvalidInputError("configuration of Persistence", [
    { path: "participants", expected: `expected ${expected}` },
  ]);
}

function warnOfFailure(event: EventBody): void {
  const agent = `agent ${JSON.stringify(event.agentId)}`;
  if (event.type === "trigger_failed")
    warn(event.type, `The trigger "${event.trigger}" failed for ${agent}: ${event.reason}`);
  if (event.type === "pruning_failed") warn(event.type, `Pruning failed for ${agent}: ${reasonOf(event.error)}`);
}

/** Rejects a three-method storage, which cannot delete. Accepts a storage that stores no data. */
export function assertPrunable({ capabilities }: RecordLog, operation: string): void {
  if (capabilities.keeps === "checkpoints") throw new PruningNotSupportedError(operation);
}

/** Returns a clock that cannot run ahead of the monotonic clock, so that a wrong system clock deletes no data early. */
function cappedNow(clock: Clock): () => number {
  const [start, since] = [clock.now(), clock.monotonic()];
  return () => Math.min(clock.now(), start + (clock.monotonic() - since));
}

const kept = 1_000;

/** The schemas of requests that this process made. Other processes have only the JSON Schema. */
class RequestSchemas {
  readonly #schemas = new Map<string, z.core.$ZodType>();

  add(agentId: string, requestId: string, schema: z.core.$ZodType): void {
    setNewest(this.#schemas, keyOf(agentId, requestId), schema, kept);
  }

  of(agentId: string, requestId: string): z.core.$ZodType | undefined {
    return this.#schemas.get(keyOf(agentId, requestId));
  }
}

function keyOf(agentId: string, requestId: string): string {
  return JSON.stringify([agentId, requestId]);
}
