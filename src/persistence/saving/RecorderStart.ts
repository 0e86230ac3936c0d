import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { BranchResult } from "../../agent/feature/RunRequest.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { DecisionRecord, StructureRecord, LanePlace } from "../../checkpoint/records/lineRecords.ts";
import type { RunState } from "../../agent/state/RunState.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import type { Replay } from "../replay/Replay.ts";
import type { CheckpointHead } from "./checkpointRecord.ts";
import type { LineCalls } from "./LineCalls.ts";
import type { NamedCheckpoints } from "./CreateCheckpointOptions.ts";

export interface RecorderStart<Recorder> {
  readonly structure: StructureRecord;
  readonly opening: readonly AgentRecord[];
  /** Returns the lane and first records of a branch or sub-agent that starts. `undefined` otherwise. */
  readonly nest?: (run: AgentRun) => readonly [lane: number, opening: readonly AgentRecord[]];
  readonly head?: CheckpointHead | undefined;
  /** The version of the checkpoint at which open branches started. `undefined` without open branches. */
  readonly openFork?: number | undefined;
  readonly origin?: CheckpointHead | undefined;
  /** The decisions in the stored state. `undefined` if the log does not contain the state of `start`. */
  readonly restored?: readonly DecisionRecord[];
  readonly recording?: Replay;
  readonly calls?: LineCalls;
  readonly replies?: RecordedAnswers;
  readonly named?: NamedCheckpoints;
  readonly line?: RecordedLine | undefined;
  readonly stored?: StoredLines<Recorder> | undefined;
  readonly parent?: Recorder | undefined;
}

/** The branches and sub-agents in the log of a restored run. Methods return `undefined` if the log has none at a place. */
export interface StoredLines<Recorder> {
  branchesOf(fork: number): readonly LanePlace[];
  /** Returns the result of a finished branch, or a recorder that continues the branch. */
  branch(
    parent: Recorder,
    place: LanePlace,
    state: RunState,
  ): { readonly lanes: readonly number[]; readonly result: BranchResult } | { readonly recorder: Recorder } | undefined;
  /** Returns the output of a finished sub-agent, or a recorder that continues the sub-agent. */
  agent(
    parent: Recorder,
    setup: PersistenceSetup,
    place: LanePlace,
  ): { readonly output: unknown } | { readonly recorder: Recorder } | undefined;
}

export interface RecordedLine {
  /** The place of a branch or sub-agent. `undefined` for the run itself. */
  readonly place?: LanePlace;
  /** The lanes, newest last. Each move starts another lane. */
  readonly lanes: number[];
}

export class ParallelStarts {
  /** The version of the checkpoint at which the branches started. `undefined` before the first parallel node. */
  version: number | undefined;
  readonly #lanes = new Map<string, readonly number[]>();

  /** Starts a parallel node. Its branches may already have started before a restore. */
  begin(version: number | undefined, { head, openFork }: Pick<RecorderStart<unknown>, "head" | "openFork">): void {
    this.version = (version === head?.version ? openFork : undefined) ?? version;
    this.#lanes.clear();
  }

  /** Adds a branch. The caller adds its later lanes to `lanes`. */
  addBranch(key: string, lanes: readonly number[]): void {
    this.#lanes.set(key, lanes);
  }

  /** Joins finished branches, so that later records can refer to their messages. */
  join(results: ReadonlyMap<string, BranchResult>, writer: ValueWriter): void {
    for (const [key, { added }] of results) writer.noteJoined(this.#lanes.get(key) ?? [], added);
  }
}
