import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { type StatusState, initialStatus, statusAfter } from "../../checkpoint/state/StatusState.ts";
import { StorageNotListableError } from "../../errors/storageErrors.ts";
import { systemClock, type Clock } from "../../internal/Clock.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { Journal } from "../../journal/Journal.ts";
import { emitAppended, type EmitEvent, emitOpened, eventEmitter } from "../../listeners/eventEmitter.ts";
import { Inbox } from "../../journal/inbox/Inbox.ts";
import { readHead } from "../../storage/readHead.ts";
import { type LogStorage, offersLog } from "../../storage/PersistenceStorageProvider.ts";
import type { RecordLog, LogAppend } from "../../storage/RecordLog.ts";
import type { AgentTelemetry } from "../../telemetry/AgentTelemetry.ts";
import { QueueTurns } from "./QueueTurns.ts";
import type { TaskManagerOptions } from "./TaskManagerOptions.ts";
import { leanRecords } from "../../checkpoint/format/leanRecords.ts";
import { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import { agentSummary } from "../../journal/agentSummary.ts";
import type { RecordSource } from "../../journal/runRecords.ts";

export class TaskLogs {
  readonly log: RecordLog;
  readonly clock: Clock;
  readonly telemetry: AgentTelemetry | undefined;
  readonly turns: QueueTurns;
  readonly storage: LogStorage;
  readonly #emit: EmitEvent | undefined;

  /** @throws StorageNotListableError for a three-method storage, or a storage that stores no data. */
  constructor({ storage, clock = systemClock, onEvent, onListenerError, telemetry }: TaskManagerOptions) {
    if (!offersLog(storage) || storage.log.capabilities.keeps === "nothing") throw new StorageNotListableError();
    this.storage = storage;
    this.log = storage.log;
    this.clock = clock;
    this.turns = new QueueTurns(storage, clock);
    this.telemetry = telemetry?.agents;
    this.#emit = eventEmitter(clock, onEvent, onListenerError);
  }

  get inbox(): Inbox {
    return Inbox.of(this.storage);
  }

  sha256(): Promise<Sha256> {
    return this.storage.sha256();
  }

  async life(taskId: string): Promise<StatusState> {
    using head = await readHead(this.log, taskId);
    return head.log.index.statusState;
  }

  /** Takes ownership of a task. @throws AgentBusyError while another process owns it. */
  openJournal(taskId: string): Promise<Journal> {
    const open = () => this.#openJournal(taskId);
    return this.telemetry?.open(taskId, open) ?? open();
  }

  /** Emits the events of a new agent. */
  emitCreated(agentId: string, records: readonly AgentRecord[]): void {
    if (this.#emit) emitAppended(agentId, this.#emit)(firstGeneration, new LogProjection())(records);
  }

  async #openJournal(taskId: string): Promise<Journal> {
    const journal = await Journal.open({
      storage: this.storage,
      agentId: taskId,
      clock: this.clock,
      maxCheckpointBytes: Infinity,
      ...(this.#emit && { listener: emitAppended(taskId, this.#emit) }),
    });
    if (this.#emit) emitOpened(journal, this.#emit);
    return journal;
  }
}

/** The generation of the first owner of an agent. */
const firstGeneration = 1;

/** The first append of an agent, and the state after it. */
interface FirstAppend {
  readonly append: LogAppend;
  readonly records: readonly AgentRecord[];
  readonly statusState: StatusState;
}

/** Makes the first append of a new agent, without ownership. Returns `undefined` if a value needs a blob. */
export async function firstAppend(
  { storage, clock }: { readonly storage: LogStorage; readonly clock: Clock },
  agentId: string,
  recordsOf: (source: RecordSource) => readonly AgentRecord[],
): Promise<FirstAppend | undefined> {
  const sha256 = await storage.sha256();
  const writer = new ValueWriter({ sha256, inlineThresholdBytes: storage.inlineThresholdBytes });
  const records = recordsOf({ writer, sha256, clock });
  if (writer.uploads > 0) return undefined;
  const statusState = records.reduce((state, record) => statusAfter(state, record, firstGeneration), initialStatus);
  const summary = agentSummary(agentId, statusState, 0);
  const append = { id: `${firstGeneration}-1`, records: leanRecords(records), ...(summary && { summary }) };
  return { append, records, statusState };
}
