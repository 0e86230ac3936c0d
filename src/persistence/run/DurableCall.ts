import type { RunRequest, ResumeOptions, RunOptions } from "../../agent/feature/RunRequest.ts";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { ActiveSpan } from "../../telemetry/AgentTelemetry.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { OwnTurn } from "./joinOrRun.ts";
import type { RunSettings } from "../../agent/state/RunState.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

export type NextRun = (request: RunRequest) => Promise<RunResult<unknown>>;

export interface DurableCall {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  readonly request: RunRequest;
  readonly next: NextRun;
  readonly turn: OwnTurn;
  readonly replaces: boolean;
  readonly span?: ActiveSpan;
}

export function newSettings(options: RunOptions | ResumeOptions): Partial<RunSettings> | undefined {
  const { llmModel: model, modelParameters: parameters } = options as ResumeOptions;
  return model === undefined && parameters === undefined ? undefined : withoutUndefined({ model, parameters });
}

export function signalOf({ journal, request: { options } }: DurableCall): AbortSignal {
  return options.signal ? AbortSignal.any([options.signal, journal.lost]) : journal.lost;
}
