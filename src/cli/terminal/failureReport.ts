import { CommanderError } from "commander";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { CommandFailure, type ExitReason } from "./CommandFailure.ts";

interface FailureReport {
  readonly reason: ExitReason;
  /** A stable code for programs: the code of the library's error, or the reason. */
  readonly code: string;
  /** Omitted if the message was already printed, for example by the parser. */
  readonly message?: string;
}

/** The error codes of each exit reason. After an error of `usage`, no data has changed. */
const codes: Readonly<Partial<Record<ExitReason, readonly string[]>>> = {
  usage: [
    "agent_copied",
    "agent_exists",
    "agent_moved",
    "approval_changed",
    "invalid_agent_id",
    "invalid_input",
    "not_an_ancestor",
    "not_supported",
    "nothing_to_cancel",
    "nothing_to_resume",
    "pruning_not_supported",
    "request_answered",
    "request_expired",
    "storage_not_listable",
    "transition_not_allowed",
    "wrong_shape",
  ],
  notFound: [
    "checkpoint_not_found",
    "request_not_found",
    "run_not_found",
    "storage_not_ready",
    "task_not_found",
    "tool_call_not_in_doubt",
  ],
  busy: ["agent_busy", "backup_busy"],
  damaged: [
    "authentication_failed",
    "corrupt_blob",
    "corrupt_log",
    "invalid_archive",
    "seal_broken",
    "unreadable_value",
    "unsupported_format",
    "unsupported_record",
  ],
};
const reasons: ReadonlyMap<string, ExitReason> = new Map(
  Object.entries(codes).flatMap(([reason, each]) => each.map((code) => [code, reason as ExitReason] as const)),
);

/** The commands for the functions that error messages name, by error code. */
const hints: Readonly<Record<string, string>> = {
  agent_copied: "On the command line: resume <agent> --take-over",
  agent_moved: "On the command line: move finish <agent> <receipt>, or move cancel <agent>",
  tool_call_in_doubt: "On the command line: settle <agent> lists all calls in doubt, and settle <agent> <call> decides",
};

interface CommandCircumstances {
  /** Whether the output is JSON, in which case the parser has printed no message. */
  readonly isForPrograms: boolean;
  readonly isStopped: boolean;
}

export function failureReport(error: unknown, { isForPrograms, isStopped }: CommandCircumstances): FailureReport {
  if (error instanceof CommanderError) return parserReport(error, isForPrograms);
  if (isStopped && error instanceof Error && error.name === "AbortError")
    return { reason: "stopped", code: "stopped", message: "The command was stopped." };
  if (error instanceof CommandFailure) {
    const { reason, cause, message } = error;
    return { reason, code: AgentPersistenceError.isInstance(cause) ? cause.code : reason, message };
  }
  if (AgentPersistenceError.isInstance(error)) {
    const hint = hints[error.code];
    const message = [error.message, ...causeOf(error), ...(hint === undefined ? [] : [hint])].join("\n");
    return {
      reason: reasons.get(error.code) ?? "failed",
      code: error.code,
      message: isForPrograms ? error.message : message,
    };
  }
  return { reason: "failed", code: "failed", message: error instanceof Error ? error.message : String(error) };
}

/** Returns the reason for the exit code if parts of a command failed: damage, or only busy agents. */
export function reasonOfParts(errors: readonly unknown[]): ExitReason | undefined {
  const [first, ...others] = new Set(
    errors.map((error) => failureReport(error, { isForPrograms: true, isStopped: false }).reason),
  );
  if (first === "damaged" || others.includes("damaged")) return "damaged";
  return first === undefined || (first === "busy" && others.length === 0) ? first : "failed";
}

/** The message of a driver or of the file system is more precise than the error of the storage. */
function causeOf({ cause, code }: AgentPersistenceError): readonly string[] {
  return code === "storage_failed" && cause instanceof Error ? [`Cause: ${cause.message}`] : [];
}

/** Converts an outcome of the parser, which prints help or an error for people. */
function parserReport({ exitCode, message }: CommanderError, isForPrograms: boolean): FailureReport {
  if (exitCode === 0) return { reason: "done", code: "done" };
  if (!isForPrograms) return { reason: "usage", code: "usage" };
  return { reason: "usage", code: "usage", message: withoutDistantSuggestion(message).replace(/^error: /, "") };
}

/** Removes the suggestion for a word of up to three letters, because commander suggests `--keys` for `--yes`. */
export function withoutDistantSuggestion(message: string): string {
  return message.replace(/('--.{0,3}')\n\(Did you mean .*\)/, "$1");
}
