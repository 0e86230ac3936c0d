import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { DecisionRecord, StructureRecord } from "../../checkpoint/records/lineRecords.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import type { Replay } from "../replay/Replay.ts";
import type { CheckpointHead } from "./checkpointRecord.ts";
import type { NamedCheckpoints } from "./NamedCheckpoints.ts";
import type { RecordedLine } from "./RecordedLine.ts";

/** Where a recorder begins: at a stored state, or with a new line. */
export interface RecorderStart<Recorder> {
  readonly structure: StructureRecord;
  /** Records that begin the run or the lane; appended with its first checkpoint. */
  readonly opening: readonly AgentRecord[];
  /** Numbers the lane of a nested line as it begins, with its first records. Absent: the line is in the log, or is the main line. */
  readonly nest?: (run: AgentRun) => readonly [lane: number, opening: readonly AgentRecord[]];
  readonly head?: CheckpointHead | undefined;
  /** The version of the fork whose branches are open. The lane may have had other checkpoints since. Absent: none is. */
  readonly openFork?: number | undefined;
  /** The checkpoint that its lane begins from. Absent: none, or the head. */
  readonly origin?: CheckpointHead | undefined;
  /** The decisions in a stored state; absent if the log does not have the state of `start`. */
  readonly restored?: readonly DecisionRecord[];
  readonly recording?: Replay;
  /** Absent: no request was recorded. */
  readonly replies?: RecordedAnswers;
  /** Absent: the run has given no checkpoint an id. */
  readonly named?: NamedCheckpoints;
  /** Absent: it is the main line, which has been on no other lane. */
  readonly line?: RecordedLine | undefined;
  /** The log that the line was restored from. Absent: no line was nested in it there. */
  readonly stored?: AgentLog | undefined;
  /** Of the line that this one is nested in. Absent: this is the main line. */
  readonly parent?: Recorder | undefined;
}
