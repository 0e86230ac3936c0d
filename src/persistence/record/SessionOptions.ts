import type { RunStart } from "../../agent/feature/RunStart.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { DecisionRecord, StructureRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { CheckpointHead } from "./CheckpointHead.ts";
import type { NamedCheckpoints } from "./NamedCheckpoints.ts";
import type { RecordedReplies } from "../replay/RecordedReplies.ts";
import type { Recording } from "../replay/Recording.ts";

/** Where a session begins: at a stored state, or with a new run. */
export interface SessionOptions {
  readonly journal: Journal;
  readonly run: RunRecord;
  readonly structure: StructureRecord;
  readonly lane: number;
  readonly automatic: boolean;
  readonly start: RunStart;
  readonly recording: Recording | undefined;
  /** Absent: nothing was asked before. */
  readonly replies?: RecordedReplies;
  /** Records that begin the run or the line; appended with its first checkpoint. */
  readonly opening: readonly AgentRecord[];
  /** The decisions in a stored state; absent when the log does not have the state of `start`. */
  readonly restored?: readonly DecisionRecord[];
  readonly head: CheckpointHead | undefined;
  /** Absent: the run has given no checkpoint an id. */
  readonly named?: NamedCheckpoints;
}
