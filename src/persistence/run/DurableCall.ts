import type { RunRequest } from "../../agent/feature/RunRequest.ts";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { ActiveSpan } from "../../telemetry/AgentTelemetry.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { OwnTurn } from "./joinOrRun.ts";

export type NextRun = (request: RunRequest) => Promise<RunResult<unknown>>;

export interface DurableCall {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  readonly request: RunRequest;
  readonly next: NextRun;
  readonly turn: OwnTurn;
  readonly replaces: boolean;
  /** Aborts when the caller aborts, or when this process loses the agent. */
  readonly signal: AbortSignal;
  readonly span?: ActiveSpan;
}
