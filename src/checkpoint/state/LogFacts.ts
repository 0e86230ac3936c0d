import { CheckpointNames } from "../lines/CheckpointNames.ts";
import type { CheckpointPosition, SnapshotRecord, FinishedRun } from "../records/SnapshotRecord.ts";
import type { AgentRecord, NotePoint } from "../records/AgentRecord.ts";
import { structureKey } from "../records/lineRecords.ts";
import { isSuccess } from "../records/callRecords.ts";
import { packsIn } from "../records/blobReferences.ts";
import type { OriginRecord } from "../records/runRecords.ts";
import type { RevertedRecord, RollbackStepRecord } from "../records/rollbackRecords.ts";
import type { BlobCell } from "../values/BlobCell.ts";

export interface ContentPlace {
  readonly blob: string;
  readonly offset: number;
  readonly bytes: number;
}

interface Recorded {
  readonly record: AgentRecord;
}

const sharedFacts = [
  "runs",
  "cancelled",
  "named",
  "names",
  "structures",
  "closed",
  "inverting",
  "reverted",
  "left",
  "ended",
  "unsuccessful",
  "owners",
  "stepsTaken",
  "contents",
  "valueBlobs",
] as const;

export class LogFacts {
  readonly runs = new Map<string, CheckpointPosition>();
  readonly cancelled = new Set<string>();
  readonly named = new Map<string, CheckpointPosition>();
  readonly names = new CheckpointNames();
  readonly structures = new Set<string>();
  readonly closed = new Set<string>();
  /** Calls whose inverse started but did not end, so that the inverse possibly took effect. */
  readonly inverting = new Set<string>();
  readonly reverted = new Set<string>();
  /** Calls that a probe, a handler or the user decided not to revert, with the reason. */
  readonly left = new Map<string, string>();
  readonly ended = new Set<string>();
  readonly unsuccessful = new Set<string>();
  /** By call from before the agent was forked: the id of the agent that made the call. */
  readonly owners = new Map<string, string>();
  readonly stepsTaken = new Map<string, Map<number, RollbackStepRecord>>();
  /** The records of the forks that led to this agent, the newest last, with their positions. */
  readonly origins: { readonly record: OriginRecord; readonly position: number }[] = [];
  readonly notes: NotePoint[] = [];
  /** The notes that finished rollbacks reverted, and the notes of the agent from which this agent was forked. */
  readonly revertedNotes = new Set<NotePoint>();
  /** The notes of the agent from which this agent was forked. A redo never repeats the changes in these notes. */
  readonly #notesOfOthers = new Set<NotePoint>();
  readonly contents = new Map<string, ContentPlace>();
  readonly valueBlobs = new Map<string, BlobCell>();

  /** @param shared - an object whose facts the new object shares from now on. */
  constructor(shared?: LogFacts) {
    if (shared) Object.assign(this, Object.fromEntries(sharedFacts.map((name) => [name, shared[name]])));
  }

  protected addSnapshot({ runs, cancelled, named, names = {}, structures }: SnapshotRecord): void {
    for (const [run, place] of Object.entries(runs)) this.runs.set(run, place);
    for (const run of cancelled) this.cancelled.add(run);
    for (const [id, place] of Object.entries(named)) this.named.set(id, place);
    for (const [name, version] of Object.entries(names)) this.names.add({ name, version });
    for (const fingerprint of structures) this.structures.add(fingerprint);
  }

  /** Marks the calls and notes of all earlier records as belonging to another agent. */
  protected addOrigin(record: OriginRecord, position: number, lanes: Iterable<readonly Recorded[]>): void {
    this.origins.push({ record, position });
    for (const note of this.notes) this.#addOfOther(note);
    for (const records of lanes)
      for (const { record: each } of records)
        if ((each.kind === "intent" || each.kind === "outcome") && !this.owners.has(each.call))
          this.owners.set(each.call, record.agentId);
  }

  protected addNote(note: NotePoint, position: number): void {
    this.notes.push(note);
    // An append that starts a fork repeats notes of the original agent.
    if (this.origins.at(-1)?.position === position) this.#addOfOther(note);
    this.addContents(note.record);
  }

  protected addToCalls(record: AgentRecord): void {
    switch (record.kind) {
      case "structure":
        this.structures.add(structureKey(record));
        return;
      case "intent":
        this.ended.delete(record.call);
        return;
      case "outcome":
        this.ended.add(record.call);
        if (isSuccess(record)) this.unsuccessful.delete(record.call);
        else this.unsuccessful.add(record.call);
        return;
      case "inverse":
        this.inverting.add(record.call);
        return;
      case "reverted":
        return this.#addInverse(record);
      case "name":
        return this.names.add(record);
      case "rollback_step":
        return this.#addStep(record);
      default:
        return;
    }
  }

  protected addContents(record: AgentRecord): void {
    for (const { blob, contents } of packsIn(record)) {
      let offset = 0;
      for (const [hash, bytes] of contents) {
        this.contents.set(hash, { blob, offset, bytes });
        offset += bytes;
      }
    }
  }

  /** Returns whether a redo can repeat the changes of a note: an earlier rollback of this agent reverted them. */
  isRedoable(note: NotePoint | undefined): boolean {
    return note !== undefined && this.revertedNotes.has(note) && !this.#notesOfOthers.has(note);
  }

  #addOfOther(note: NotePoint): void {
    this.#notesOfOthers.add(note);
    this.revertedNotes.add(note);
  }

  protected endAgain({ run, place, isCancelled }: FinishedRun): void {
    this.runs.set(run, place);
    if (isCancelled) this.cancelled.add(run);
    else this.cancelled.delete(run);
  }

  protected reopen(run: string): void {
    this.runs.delete(run);
    this.cancelled.delete(run);
  }

  #addInverse({ call, error, left }: RevertedRecord): void {
    this.inverting.delete(call);
    this.left.delete(call);
    if (!error) this.reverted.add(call);
    else if (left) this.left.set(call, error.message);
  }

  #addStep(record: RollbackStepRecord): void {
    const { key, step } = record;
    const taken = this.stepsTaken.get(key);
    if (taken) taken.set(step, record);
    else this.stepsTaken.set(key, new Map([[step, record]]));
  }
}
