import { reasonOf } from "../../internal/reasonOf.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { NotSerializableError } from "../../errors/storage/NotSerializableError.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import { attempt } from "../inverse/InverseRetry.ts";
import type { RevertOptions } from "./RevertOptions.ts";
import { rollbackCallOptions, storedInput } from "./rollbackCall.ts";

/**
 * A call that has ended, as it is. One in doubt that may be made again under its id is: then it has surely had its effect,
 * and what takes it back gets its output.
 */
export async function repeatCall(
  call: LoggedCall,
  tool: AnyTool,
  options: RevertOptions,
): Promise<LoggedCall | { readonly error: unknown }> {
  if (call.outcome && !call.outcome.retry) return call;
  const { setup, journal, signal } = options;
  const stored = await storedInput(tool, call);
  if ("error" in stored) return stored;
  await beginAgain(call, journal);
  const given = rollbackCallOptions(call.call, options);
  // The schema has just made this input.
  const execute = () => tool.execute(stored.input as never, given);
  const end = await attempt(execute, setup.inverseRetry, journal.clock, signal);
  if (end.failed) return { error: end.error };
  const { outcome, output } = endOf(call, end.output, journal);
  journal.append([outcome]);
  await journal.durable();
  return { ...call, outcome, output: () => output };
}

/** Leave that was given from outside is for one try. */
async function beginAgain({ intent, outcome, lane }: LoggedCall, journal: Journal): Promise<void> {
  if (!intent || !outcome?.retry) return;
  journal.append([{ ...intent, lane }]);
  await journal.durable();
}

function endOf(
  { lane, visit, call, tool }: LoggedCall,
  given: unknown,
  { writer }: Journal,
): { readonly outcome: OutcomeRecord; readonly output?: unknown } {
  const ended = { kind: "outcome", lane, visit, call } as const;
  try {
    const output = frozenCopy(given);
    return { outcome: { ...ended, output: writer.value(output, `the output of tool "${tool}"`) }, output };
  } catch (error) {
    const { path, reason } =
      error instanceof NotSerializableError ? error : { path: "", reason: `cannot be copied: ${reasonOf(error)}` };
    return { outcome: { ...ended, lost: { path, reason } } };
  }
}
