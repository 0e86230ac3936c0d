import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { RunStart, BranchResult } from "../../agent/feature/RunRequest.ts";
import type { RunSettings, RunState } from "../../agent/state/RunState.ts";
import type { NextStep } from "../../agent/strategy/StrategyGraph.ts";
import type { CheckpointToolCall } from "../../checkpoint/data/AgentCheckpointData.ts";
import { type FileChange, fileChangesIn, fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { valueBytes } from "../../checkpoint/records/blobReferences.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { DecisionRecord, StructureRecord, CheckpointRecord } from "../../checkpoint/records/lineRecords.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { SnapshotRecord } from "../../checkpoint/records/SnapshotRecord.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { statusAfter } from "../../checkpoint/state/StatusState.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import type { Replay } from "../replay/Replay.ts";
import { RequestDigest } from "../../agent/model/RequestDigest.ts";
import type { CheckpointTrigger } from "../config/triggers.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import {
  assertCheckpointFits,
  type CheckpointHead,
  type CheckpointPlan,
  checkpointRecord,
  subjectOf,
} from "./checkpointRecord.ts";
import { LineCalls } from "./LineCalls.ts";
import { NamedCheckpoints } from "./CreateCheckpointOptions.ts";
import { type RecordedLine, type RecorderStart, ParallelStarts } from "./RecorderStart.ts";
import { type LastSave, lastSave, StateWriter } from "./StateWriter.ts";
import { noteRecord, type NewNote } from "./noteRecord.ts";
import { snapshotIfDue, snapshotOf } from "./snapshot.ts";

/** Records a run, branch or sub-agent on one lane. A move creates a new recorder with the same journal. */
export class RunRecorder {
  lane: number;
  readonly line: RecordedLine;
  /** The branches and sub-agents in the log from which the run was restored. */
  readonly stored: RecorderStart<RunRecorder>["stored"];
  readonly parent: RunRecorder | undefined;
  readonly structure: StructureRecord;
  /** The newest recorder of each open branch or sub-agent. */
  readonly nested = new Map<RecordedLine, RunRecorder>();
  readonly forks = new ParallelStarts();
  readonly recording: Replay | undefined;
  readonly requests: RequestDigest;
  readonly replies: RecordedAnswers | undefined;
  readonly calls: LineCalls;
  readonly named: NamedCheckpoints;
  head: CheckpointHead | undefined;
  /** Model settings that a resume changes. `undefined` keeps the stored settings. */
  newSettings: Partial<RunSettings> | undefined;
  answersDurable: Promise<void> | undefined;
  /** True after a move to another lane. This lane then records only effects. */
  closed = false;
  #namesNext: boolean;
  endedCalls: CheckpointToolCall[] = [];
  changedFiles: readonly FileChange[] = [];
  /** True if the running node has saved a later state, so its start can no longer be saved. */
  savedWithin = false;
  saved: LastSave;
  readonly #from: RecorderStart<RunRecorder>;
  #opening: readonly AgentRecord[];
  #state: StateWriter | undefined;
  /** Changes before the current node that are not yet in the log. Empty with automatic checkpoints. */
  #pending: AgentRecord[] = [];
  #node = "start";
  #foreseen: (Pick<NextStep, "nodeId" | "input"> & { readonly version: number }) | undefined;

  constructor(
    readonly setup: PersistenceSetup,
    readonly journal: Journal,
    readonly run: RunRecord,
    readonly start: RunStart,
    from: RecorderStart<RunRecorder>,
  ) {
    const { head, parent, named = new NamedCheckpoints(), line = { lanes: [start.line.lane] } } = from;
    this.#from = from;
    this.lane = start.line.lane;
    this.line = line;
    this.stored = from.stored;
    this.parent = parent;
    this.structure = from.structure;
    this.#namesNext = head !== undefined;
    parent?.nested.set(line, this);
    this.requests = new RequestDigest(journal.sha256);
    this.recording = from.recording;
    this.calls = from.calls ?? new LineCalls();
    this.replies = from.replies;
    this.head = head;
    this.named = named;
    this.#opening = from.opening;
    this.saved = lastSave(journal, this.lane, start.state);
  }

  /** Called when the first node is known. Resolves when a new run is durable. */
  async begin(run: AgentRun, next: NextStep): Promise<void> {
    const { journal } = this;
    const nested = this.#from.nest?.(run);
    if (nested) [this.lane, this.#opening] = nested;
    this.#writerOf(run.state);
    if (this.newSettings) run.state.configure(this.newSettings);
    this.#takeChanges(run.state);
    if (next.nodeId === "finish") return this.finish(run, next);
    if (this.#savesBeginning(run)) {
      // A new run depends on no earlier lane, so that a later read of the log can start here.
      const boundary = this.head ? {} : ({ boundary: true } as const);
      const until = this.parent ? "room" : "durable";
      await this.save(run, { node: next.nodeId, input: next.input, ...boundary }, until);
    } else if (this.#opening.length > 0 || this.newSettings) {
      this.#append(this.#drainUnsaved(), {}, run.state);
      await journal.durable();
    }
    journal.running = true;
  }

  /** Whether to save the state before the first node. A new branch or sub-agent always does. */
  #savesBeginning(run: AgentRun): boolean {
    if (!this.head && this.parent) return true;
    return this.setup.automatic && (!this.head || this.start.unresolved === true) && !this.recording?.reaches(run);
  }

  beginFork(run: AgentRun, node: string, input: unknown): void {
    if (!this.#namesNext) this.#saveNext(run, { node, input, boundary: true, trigger: "fork" });
    this.forks.begin(this.head?.version, this.#from);
    this.#node = node;
  }

  join(run: AgentRun, node: string, input: unknown, results: ReadonlyMap<string, BranchResult>): void {
    const { journal, forks } = this;
    forks.join(results, journal.writer);
    const joined = forks.version === undefined ? {} : { joined: forks.version };
    this.#saveNext(run, { node, input, boundary: true, ...joined });
    this.nested.clear();
  }

  close(): void {
    this.closed = true;
    for (const recorder of this.nested.values()) recorder.close();
  }

  /** Prepares a node. The state at its start can be saved until a later state is saved. */
  enterNode(run: AgentRun, nodeId: string): void {
    this.savedWithin = false;
    this.#namesNext = false;
    this.#foreseen = undefined;
    this.#takeChanges(run.state);
    this.#node = nodeId;
    run.state.history.mark();
    run.state.storage.mark();
  }

  async leaveNode(run: AgentRun, next: NextStep, due: CheckpointTrigger | undefined): Promise<void> {
    this.nested.clear();
    if (next.nodeId === "finish") return this.finish(run, next);
    if (due) await this.#saveAfter(run, next, due);
    else if (this.#foreseen && this.isForeseen(next)) run.visitBase = this.#foreseen.version;
    else this.saved = { ...this.saved, left: true };
    this.journal.writer.nextVisit(this.lane);
  }

  async #saveAfter(run: AgentRun, { nodeId: node, input }: NextStep, due: CheckpointTrigger): Promise<void> {
    const trigger = due.name === "after_node" ? {} : { trigger: due.name };
    await this.save(run, { node, input, boundary: true, ...trigger }, due.priority === "normal" ? "room" : "durable");
  }

  /** Returns the approximate number of bytes of the unsaved state. */
  newBytes(state: RunState): number {
    const { writer } = this.journal;
    const { uploads } = writer;
    const records = this.#writerOf(state).peek(state, this.#node);
    writer.withdrawUploads(uploads);
    return records.length > 0 ? valueBytes(records) : 0;
  }

  isForeseen({ nodeId, input }: Pick<NextStep, "nodeId" | "input">): boolean {
    const foreseen = this.#foreseen;
    return foreseen !== undefined && foreseen.nodeId === nodeId && isSameValue(foreseen.input, input);
  }

  get grownBytes(): number {
    return (
      this.journal.valueBytesOn(this.lane) -
      this.saved.valueBytes +
      (this.#pending.length > 0 ? valueBytes(this.#pending) : 0)
    );
  }

  /** Saves a finished node without a matching edge, so that a resume evaluates only its edges again. */
  async leaveUnresolved(run: AgentRun, nodeId: string, output: unknown): Promise<void> {
    if (this.setup.automatic) await this.save(run, { node: nodeId, input: output, unresolved: true });
  }

  async finish(run: AgentRun, { input }: NextStep): Promise<void> {
    this.parent?.nested.delete(this.line);
    if (this.parent) return void (await this.save(run, { node: "finish", input, ended: true }, "room"));
    const end = await this.journal.endFacts?.(input);
    const boundary = this.head ? {} : ({ boundary: true } as const);
    await this.save(run, { node: "finish", input, status: "completed", ...(end && { end }), ...boundary });
    this.journal.running = false;
  }

  note(note: NewNote, call: string | undefined): void {
    const { lane, journal } = this;
    journal.append([noteRecord(note, { lane, call, writer: journal.writer })]);
    if (note.key === fileNoteKey) this.changedFiles = [...this.changedFiles, ...fileChangesIn(frozenCopy(note.value))];
  }

  /** Saves the current state with the next node. If the write fails, the next append rejects. */
  async save(run: AgentRun, plan: CheckpointPlan, until: "durable" | "room" = "durable"): Promise<CheckpointRecord> {
    const record = this.#saveNext(run, plan);
    await this.journal[until]();
    return record;
  }

  #saveNext(run: AgentRun, plan: CheckpointPlan): CheckpointRecord {
    const record = this.#saveState(run, plan);
    run.visitBase = record.version;
    this.#namesNext = true;
    return record;
  }

  /** Saves the current state in a running node. A resume continues at the given node, but the node may go elsewhere. */
  async saveWithin(run: AgentRun, plan: CheckpointPlan): Promise<CheckpointRecord> {
    const record = this.#saveState(run, { ...plan, foreseen: true });
    this.#foreseen = { version: record.version, nodeId: plan.node, input: plan.input };
    await this.journal.durable();
    return record;
  }

  #saveState(run: AgentRun, plan: CheckpointPlan): CheckpointRecord {
    const { writer } = this.journal;
    const uploads = writer.uploads;
    // The output of a run is stored as a whole, so that lists can read it without the history.
    const input = plan.status
      ? writer.value(plan.input, subjectOf(plan))
      : writer.input(plan.input, subjectOf(plan), this.lane, (message) => run.state.history.numberOf(message));
    const check = (fresh: readonly AgentRecord[]) =>
      assertCheckpointFits(this.journal, plan, input, [...this.#unsaved, ...fresh], uploads);
    this.#pending.push(...this.#writerOf(run.state).take(run.state, this.#node, check));
    const parent = this.head;
    const record = this.#record(run, plan, input);
    const unsaved = this.#drainUnsaved();
    const take = () => this.#snapshot(record, run, plan, { parent, unsaved });
    // A snapshot contains only this state, so that no branch or sub-agent may be open.
    const isAlone = plan.boundary === true && !this.parent && this.nested.size === 0 && plan.joined === undefined;
    const snapshot = isAlone && snapshotIfDue(this.journal, parent ? "step" : "lane", take);
    // Between two nodes of the run itself, no other code can add records to this append.
    const last = plan.boundary === true && !this.parent;
    const releases = plan.status && this.journal.endsWithRun?.();
    this.#append([...unsaved, record, ...(snapshot ? [snapshot] : [])], { last, releases }, run.state);
    if (!isAlone) this.journal.headSnapshots.makeIfDue();
    this.savedWithin = true;
    return record;
  }

  /** Saves the state at the start of the current node. A resume repeats the node and replays its recorded calls. */
  async saveBeginning(run: AgentRun, visit: Visit, plan: CheckpointPlan): Promise<CheckpointRecord> {
    const { history } = run.state;
    const { writer } = this.journal;
    const uploads = writer.uploads;
    const input = writer.input(plan.input, subjectOf(plan), this.lane, (message) => history.numberAtMark(message));
    assertCheckpointFits(this.journal, plan, input, this.#unsaved, uploads);
    const record = { ...this.#record(run, plan, input), visit };
    this.#append([...this.#drainUnsaved(), record], {}, run.state);
    await this.journal.durable();
    return record;
  }

  get decisions(): readonly DecisionRecord[] {
    return this.#state?.decisions ?? this.#from.restored ?? [];
  }

  drainUnsaved(run: AgentRun): AgentRecord[] {
    this.#takeChanges(run.state);
    return this.#drainUnsaved();
  }

  #takeChanges(state: RunState): void {
    this.#pending.push(...this.#writerOf(state).take(state, this.#node));
  }

  get #unsaved(): AgentRecord[] {
    return [...this.#opening, ...this.#pending];
  }

  /** @param state The restored state at the first call, which is the saved state if the log contains it. */
  #writerOf({ settings, requirements }: RunState): StateWriter {
    const { writer, clock } = this.journal;
    const { restored: decisions } = this.#from;
    // If the log contains no settings, the settings of the agent are a change.
    const saved = decisions && { settings: this.start.state.settings && settings, requirements, decisions };
    return (this.#state ??= new StateWriter(writer, this.lane, () => clock.now(), saved));
  }

  #snapshot(
    record: CheckpointRecord,
    { state }: AgentRun,
    { input }: CheckpointPlan,
    before: { readonly parent: CheckpointHead | undefined; readonly unsaved: readonly AgentRecord[] },
  ): SnapshotRecord {
    const { journal, run, head } = this;
    return snapshotOf(record, {
      journal,
      state,
      writer: this.#writerOf(state),
      run,
      structure: this.structure,
      checkpointId: head?.id ?? "",
      parent: before.parent ?? this.#from.origin,
      first: before.unsaved.some(({ kind }) => kind === "lane"),
      status: before.unsaved.reduce(
        (status, each) => statusAfter(status, each, journal.generation),
        journal.statusState,
      ),
      input,
    });
  }

  #record(run: AgentRun, plan: CheckpointPlan, input: StoredValue): CheckpointRecord {
    const { journal, lane } = this;
    const record = checkpointRecord(run, plan, { journal, lane, run: this.run, input });
    if (plan.id !== undefined) this.named.add(plan.id);
    this.head = { version: record.version, id: plan.id ?? `${journal.generation}-${record.version}` };
    return record;
  }

  #append(records: readonly AgentRecord[], how: Parameters<Journal["append"]>[1], state: RunState): void {
    this.journal.append(records, how);
    this.setup.telemetry?.save(this, records);
    this.endedCalls = [];
    this.changedFiles = [];
    this.saved = lastSave(this.journal, this.lane, state);
  }

  #drainUnsaved(): AgentRecord[] {
    const records = this.#unsaved;
    this.#opening = [];
    this.#pending = [];
    return records;
  }
}
