import { CommanderError } from "commander";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { CommandFailure, type ExitReason } from "./CommandFailure.ts";

/** How a command ended, and what is said of it. */
export interface FailureReport {
  readonly reason: ExitReason;
  /** Stable, for programs: that of the library's error, or the reason itself. */
  readonly code: string;
  /** Absent: it was said already, as by the parser. */
  readonly message?: string;
}

const reasons: Readonly<Record<string, ExitReason>> = {
  agent_busy: "busy",
  checkpoint_not_found: "notFound",
  corrupt_blob: "damaged",
  corrupt_log: "damaged",
  invalid_archive: "damaged",
  invalid_input: "usage",
  invalid_agent_id: "usage",
  not_an_ancestor: "usage",
  request_not_found: "notFound",
  task_not_found: "notFound",
  tool_call_not_in_doubt: "notFound",
  unreadable_value: "damaged",
  unsupported_record: "damaged",
};

/** What an error means for who called the command line. */
export function failureReport(error: unknown): FailureReport {
  if (error instanceof CommanderError) return { reason: error.exitCode === 0 ? "done" : "usage", code: "usage" };
  if (error instanceof CommandFailure) return { reason: error.reason, code: error.reason, message: error.message };
  if (AgentPersistenceError.isInstance(error))
    return { reason: reasons[error.code] ?? "failed", code: error.code, message: error.message };
  return { reason: "failed", code: "failed", message: error instanceof Error ? error.message : String(error) };
}
