import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { BranchResult } from "../../agent/feature/RunRequest.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { DecisionRecord, StructureRecord, LanePlace } from "../../checkpoint/records/lineRecords.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import type { Replay } from "../replay/Replay.ts";
import type { CheckpointHead } from "./checkpointRecord.ts";
import type { LineCalls } from "./LineCalls.ts";
import type { NamedCheckpoints } from "./CreateCheckpointOptions.ts";

export interface RecorderStart<Recorder> {
  readonly structure: StructureRecord;
  readonly opening: readonly AgentRecord[];
  /** Returns the lane and first records of a nested line when it starts. `undefined` for other lines. */
  readonly nest?: (run: AgentRun) => readonly [lane: number, opening: readonly AgentRecord[]];
  readonly head?: CheckpointHead | undefined;
  /** The version of the fork with open branches, which later checkpoints can follow. `undefined` if none is open. */
  readonly openFork?: number | undefined;
  readonly origin?: CheckpointHead | undefined;
  /** The decisions in a stored state. `undefined` if the log does not contain the state of `start`. */
  readonly restored?: readonly DecisionRecord[];
  readonly recording?: Replay;
  readonly calls?: LineCalls;
  readonly replies?: RecordedAnswers;
  readonly named?: NamedCheckpoints;
  readonly line?: RecordedLine | undefined;
  readonly stored?: AgentLog | undefined;
  readonly parent?: Recorder | undefined;
}

export interface RecordedLine {
  /** `undefined` for the main line. */
  readonly place?: LanePlace;
  /** The lanes of the line, the newest last. Each move starts another lane. */
  readonly lanes: number[];
}

export class ParallelStarts {
  /** The version of the checkpoint at which branches start. `undefined` before the first parallel node. */
  version: number | undefined;
  readonly #lanes = new Map<string, readonly number[]>();

  /** Starts a parallel node. @param from The restored position. Branches of the node can have started earlier. */
  begin(version: number | undefined, { head, openFork }: Pick<RecorderStart<unknown>, "head" | "openFork">): void {
    this.version = (version === head?.version ? openFork : undefined) ?? version;
    this.#lanes.clear();
  }

  /** Adds a branch that starts or continues. Later lanes are added to `lanes`. */
  addBranch(key: string, lanes: readonly number[]): void {
    this.#lanes.set(key, lanes);
  }

  /** Joins the finished branches. Later records may refer to messages that the branches added. */
  join(results: ReadonlyMap<string, BranchResult>, writer: ValueWriter): void {
    for (const [key, { added }] of results) writer.noteJoined(this.#lanes.get(key) ?? [], added);
  }
}
