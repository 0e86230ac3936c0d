import type { BranchResult } from "../../agent/feature/BranchResult.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { RunSettings, RunState } from "../../agent/state/RunState.ts";
import type { NextStep } from "../../agent/strategy/NextStep.ts";
import type { CheckpointToolCall } from "../../checkpoint/data/AgentCheckpointData.ts";
import { type FileChange, fileChangesIn, fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { valueBytes } from "../../checkpoint/records/blobReferences.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../../checkpoint/records/CheckpointRecord.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { DecisionRecord, StructureRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { SnapshotRecord } from "../../checkpoint/records/SnapshotRecord.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { statusAfter } from "../../checkpoint/state/StatusState.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { frozenCopy } from "../../internal/copy/frozenCopy.ts";
import type { Journal } from "../../journal/Journal.ts";

import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import type { Replay } from "../replay/Replay.ts";
import { RequestDigest } from "../replay/RequestDigest.ts";
import type { CheckpointTrigger } from "../triggers/CheckpointTrigger.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import {
  assertCheckpointFits,
  type CheckpointHead,
  type CheckpointPlan,
  checkpointRecord,
  subjectOf,
} from "./checkpointRecord.ts";
import { Forks } from "./Forks.ts";
import { LineCalls } from "./LineCalls.ts";
import { NamedCheckpoints } from "./NamedCheckpoints.ts";
import type { RecordedLine } from "./RecordedLine.ts";
import type { RecorderStart } from "./RecorderStart.ts";
import { type SavedMoment, savedMoment } from "./SavedMoment.ts";
import { StateWriter } from "./StateWriter.ts";
import { noteRecord, type NewNote } from "./noteRecord.ts";
import { snapshotIfDue, snapshotOf } from "./snapshot.ts";

/** Records one run on one lane of a journal. A move begins another recorder on the same journal. */
export class RunRecorder {
  /** 0 until a nested line begins. */
  lane: number;
  readonly line: RecordedLine;
  /** The log that the line was restored from, while it may have lines that are nested in this one. Absent: it has none. */
  readonly stored: AgentLog | undefined;
  /** Of the line that this one is nested in. Absent: this is the main line. */
  readonly parent: RunRecorder | undefined;
  readonly structure: StructureRecord;
  /** The recorders of the lines that are nested in this one. */
  readonly nested = new Set<RunRecorder>();
  readonly forks = new Forks();
  readonly recording: Replay | undefined;
  readonly requests: RequestDigest;
  readonly replies: RecordedAnswers | undefined;
  readonly calls = new LineCalls();
  readonly named: NamedCheckpoints;
  head: CheckpointHead | undefined;
  /** Settings of the model that a resume changes. Absent: those of the stored state stay. */
  newSettings: Partial<RunSettings> | undefined;
  /** Resolves when every answer recorded so far is durable. */
  answersDurable: Promise<void> | undefined;
  /** True once the line has moved to another lane: of what still ends on this one, only effects are recorded. */
  closed = false;
  /** Whether the newest checkpoint names the node that runs next, and it has not begun. */
  #namesNext: boolean;
  /** Calls that ended since the last checkpoint, for the data that a save returns. */
  endedCalls: CheckpointToolCall[] = [];
  /** Changes of files noted since the last checkpoint. */
  changedFiles: readonly FileChange[] = [];
  /** True once the log has state from within the current visit: its beginning can no longer be saved. */
  savedWithin = false;
  /** The last checkpoint, or else where this recorder began. */
  saved: SavedMoment;
  readonly #from: RecorderStart<RunRecorder>;
  #opening: readonly AgentRecord[];
  #state: StateWriter | undefined;
  /** What changed before the current node, not yet in the log; only without automatic checkpoints. */
  #pending: AgentRecord[] = [];
  /** The node that runs or ran last. */
  #node = "start";
  /** The checkpoint that was saved within the current visit, and the next step that it names. */
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
    parent?.nested.add(this);
    this.requests = new RequestDigest(journal.sha256);
    this.recording = from.recording;
    this.replies = from.replies;
    this.head = head;
    this.named = named;
    this.#opening = from.opening;
    const { progress, progressSummary } = start.state;
    this.saved = savedMoment(journal, this.lane, { progress, progressSummary });
  }

  /** The run's first position is known. A new run is durable when this resolves. */
  async begin(run: AgentRun, next: NextStep): Promise<void> {
    const { journal } = this;
    const { settings, requirements } = run.state;
    const nested = this.#from.nest?.(run);
    if (nested) [this.lane, this.#opening] = nested;
    const { restored } = this.#from;
    // A log may have no settings: those of the agent are new to it.
    const saved = restored && { settings: this.start.state.settings && settings, requirements, decisions: restored };
    this.#state = new StateWriter(journal.writer, this.lane, () => journal.clock.now(), saved);
    if (this.newSettings) run.state.configure(this.newSettings);
    this.#takeChanges(run.state);
    if (next.nodeId === "finish") return this.finish(run, next);
    if (this.#savesBeginning(run)) {
      // A lane that begins needs no other: an open then need not read what came before.
      const boundary = this.head ? {} : ({ boundary: true } as const);
      // All that has an effect comes later in the same log: nobody waits for a nested line to begin.
      const until = this.parent ? "room" : "durable";
      await this.save(run, { node: next.nodeId, input: next.input, ...boundary }, until);
    } else if (this.#opening.length > 0 || this.newSettings) {
      this.#append(this.#drainUnsaved(), {}, run.state);
      await journal.durable();
    }
    journal.running = true;
  }

  /** A nested line is stored from its first checkpoint on, whether or not checkpoints are made automatically. */
  #savesBeginning(run: AgentRun): boolean {
    if (!this.head && this.parent) return true;
    return this.setup.automatic && (!this.head || this.start.unresolved === true) && !this.recording?.reaches(run);
  }

  /** A parallel node is about to run: its branches begin at a checkpoint that names it. */
  beginFork(run: AgentRun, node: string, input: unknown): void {
    if (!this.#namesNext) this.#saveNext(run, { node, input, boundary: true, trigger: "fork" });
    this.forks.begin(this.head?.version, this.#from);
  }

  /** The branches of a parallel node have ended, and its merge runs next. */
  join(run: AgentRun, node: string, input: unknown, results: ReadonlyMap<string, BranchResult>): void {
    const { journal, forks } = this;
    forks.join(results, journal.writer);
    const joined = forks.version === undefined ? {} : { joined: forks.version };
    this.#saveNext(run, { node, input, boundary: true, ...joined });
    this.nested.clear();
  }

  /** The line moves, or a line that it is nested in: see {@link closed}. */
  close(): void {
    this.closed = true;
    for (const recorder of this.nested) recorder.close();
  }

  /** A node is about to run: what it begins with can be saved until state from within it is. */
  enterNode(run: AgentRun, nodeId: string): void {
    this.savedWithin = false;
    this.#namesNext = false;
    this.#foreseen = undefined;
    this.#takeChanges(run.state);
    this.#node = nodeId;
    run.state.history.mark();
    run.state.storage.mark();
  }

  /** A node has ended and another is next. */
  async leaveNode(run: AgentRun, next: NextStep, due: CheckpointTrigger | undefined): Promise<void> {
    // Agents that ran for its calls have ended.
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

  /** Roughly how many bytes of the state are new and not collected yet. A checkpoint that is refused must find them new. */
  newBytes(state: RunState): number {
    const { writer } = this.journal;
    const { uploads } = writer;
    const records = this.#writer.peek(state, this.#node);
    writer.withdrawUploads(uploads);
    return records.length > 0 ? valueBytes(records) : 0;
  }

  /** Whether a checkpoint that was saved within the current visit names this step. */
  isForeseen({ nodeId, input }: Pick<NextStep, "nodeId" | "input">): boolean {
    const foreseen = this.#foreseen;
    return foreseen !== undefined && foreseen.nodeId === nodeId && isSameValue(foreseen.input, input);
  }

  /** Roughly how many bytes were stored since the last checkpoint, or were collected. */
  get grownBytes(): number {
    return (
      this.journal.valueBytesOn(this.lane) -
      this.saved.valueBytes +
      (this.#pending.length > 0 ? valueBytes(this.#pending) : 0)
    );
  }

  /** A node has ended and no edge matches: a resume tries the edges again, not the node. */
  async leaveUnresolved(run: AgentRun, nodeId: string, output: unknown): Promise<void> {
    if (this.setup.automatic) await this.save(run, { node: nodeId, input: output, unresolved: true });
  }

  /** The line has ended with an output, and with the main line the run. */
  async finish(run: AgentRun, { input }: NextStep): Promise<void> {
    this.parent?.nested.delete(this);
    // What follows from it comes later in the same log.
    if (this.parent) return void (await this.save(run, { node: "finish", input, ended: true }, "room"));
    const end = await this.journal.endFacts?.(input);
    const boundary = this.head ? {} : ({ boundary: true } as const);
    await this.save(run, { node: "finish", input, status: "completed", ...(end && { end }), ...boundary });
    this.journal.running = false;
  }

  /** Records a note beside the state of the run, with the next append. */
  note(note: NewNote, call: string | undefined): void {
    const { lane, journal } = this;
    journal.append([noteRecord(note, { lane, call, writer: journal.writer })]);
    if (note.key === fileNoteKey) this.changedFiles = [...this.changedFiles, ...fileChangesIn(frozenCopy(note.value))];
  }

  /**
   * Saves the current state with the node that runs next; visits are counted from here.
   *
   * @param until when it resolves: once that is durable, or once there is room for more. If storing it fails, so does the
   * next append.
   */
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

  /** Saves the current state while a node runs, with the node that a resume begins with; this one may lead elsewhere. */
  async saveWithin(run: AgentRun, plan: CheckpointPlan): Promise<CheckpointRecord> {
    const record = this.#saveState(run, plan);
    this.#foreseen = { version: record.version, nodeId: plan.node, input: plan.input };
    await this.journal.durable();
    return record;
  }

  /** A refusal changes nothing. */
  #saveState(run: AgentRun, plan: CheckpointPlan): CheckpointRecord {
    const { writer } = this.journal;
    const uploads = writer.uploads;
    // The output of a run is read without its history, by lists and by other tools.
    const input = plan.status
      ? writer.value(plan.input, subjectOf(plan))
      : writer.input(plan.input, subjectOf(plan), this.lane, (message) => run.state.history.numberOf(message));
    const check = (fresh: readonly AgentRecord[]) =>
      assertCheckpointFits(this.journal, plan, input, [...this.#unsaved, ...fresh], uploads);
    this.#pending.push(...this.#writer.take(run.state, this.#node, check));
    const parent = this.head;
    const record = this.#record(run, plan, input);
    const unsaved = this.#drainUnsaved();
    const take = () => this.#snapshot(record, run, plan, { parent, unsaved });
    // The state of this line is all that a run needs to go on from there.
    const isAlone = plan.boundary === true && !this.parent && this.nested.size === 0 && plan.joined === undefined;
    const snapshot = isAlone && snapshotIfDue(this.journal, parent ? "step" : "lane", take);
    // Between two nodes nothing else runs that could add to the append.
    const last = plan.boundary === true && !this.parent;
    this.#append([...unsaved, record, ...(snapshot ? [snapshot] : [])], { last }, run.state);
    if (!isAlone) this.journal.snapshotBeside();
    this.savedWithin = true;
    return record;
  }

  /** Saves the state at the beginning of the current visit: a resume repeats its node and replays the records since. */
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

  /** Every decision of the run so far. */
  get decisions(): readonly DecisionRecord[] {
    return this.#writer.decisions;
  }

  /** The records of everything not yet saved, for a line that begins with the state of this moment. */
  drainUnsaved(run: AgentRun): AgentRecord[] {
    this.#takeChanges(run.state);
    return this.#drainUnsaved();
  }

  /** Collects what is new in the state for the next checkpoint. */
  #takeChanges(state: RunState): void {
    this.#pending.push(...this.#writer.take(state, this.#node));
  }

  get #unsaved(): readonly AgentRecord[] {
    return [...this.#opening, ...this.#pending];
  }

  get #writer(): StateWriter {
    return (this.#state ??= new StateWriter(this.journal.writer, this.lane, () => this.journal.clock.now()));
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
      writer: this.#writer,
      run,
      structure: this.structure,
      checkpointId: head?.id ?? "",
      parent: before.parent ?? this.#from.origin,
      first: before.parent === undefined && record.status === undefined,
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
    this.saved = savedMoment(this.journal, this.lane, state);
  }

  #drainUnsaved(): AgentRecord[] {
    const records = [...this.#opening, ...this.#pending];
    this.#opening = [];
    this.#pending = [];
    return records;
  }
}
