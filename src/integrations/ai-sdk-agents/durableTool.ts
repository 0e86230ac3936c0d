import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import type { HostedCall, HostedLoop, PerformOptions } from "../hosted/HostedLoop.ts";
import type { HostedTool } from "../hosted/HostedTool.ts";

interface ExecuteOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

type Execute = (input: unknown, options: ExecuteOptions) => unknown;

/** Returns a tool whose calls are recorded. Tools without `execute` are returned unchanged. */
export function durableTool(tool: object, hosted: HostedTool, run: { readonly loop: HostedLoop }): object {
  const { execute } = tool as { readonly execute?: Execute };
  if (typeof execute !== "function") return tool;
  const own = execute.bind(tool);
  return { ...tool, execute: isGenerator(execute) ? streaming(own, hosted, run) : settling(own, hosted, run) };
}

function settling(execute: Execute, tool: HostedTool, run: { readonly loop: HostedLoop }): Execute {
  return (input, options) =>
    called(run.loop, options, {
      tool,
      input,
      perform: async (given) =>
        lastOf(await execute(input, { ...options, ...given, abortSignal: either(options, given) })),
    });
}

/** Forwards preliminary results as they arrive. Only the last result is recorded. */
function streaming(execute: Execute, tool: HostedTool, run: { readonly loop: HostedLoop }): Execute {
  return async function* preliminary(input, options) {
    const shown: unknown[] = [];
    let wake: () => void = () => undefined;
    const perform = async (given: PerformOptions): Promise<unknown> => {
      let last: unknown;
      const results = execute(input, { ...options, ...given, abortSignal: either(options, given) });
      for await (const result of results as AsyncIterable<unknown>) {
        last = result;
        shown.push(result);
        wake();
      }
      return last;
    };
    let isOver = false;
    const output = called(run.loop, options, { tool, input, perform }).finally(() => {
      isOver = true;
      wake();
    });
    output.catch(() => undefined);
    let count = 0;
    for (;;) {
      for (; count < shown.length; count++) yield shown[count];
      if (isOver) break;
      await new Promise<void>((resolve) => (wake = resolve));
    }
    const recorded = await output;
    if (count === 0) yield recorded;
  };
}

/** Rethrows errors of the tool, which the AI SDK passes to the model. Any other error ends the run. */
async function called(loop: HostedLoop, { toolCallId }: ExecuteOptions, call: HostedCall): Promise<unknown> {
  try {
    return await loop.call(toolCallId, call);
  } catch (error) {
    if (error instanceof ToolFailedError) throw thrownBy(error);
    if (error instanceof ToolOutcomeUnknownError) throw new Error(error.reason);
    throw error;
  }
}

/** Returns the original error of the tool, or an error that is restored from the record. */
function thrownBy({ cause, reason, errorName }: ToolFailedError): unknown {
  if (cause !== undefined) return cause;
  return Object.assign(new Error(reason), errorName !== undefined && { name: errorName });
}

function either({ abortSignal: theirs }: ExecuteOptions, { abortSignal: ours }: PerformOptions): AbortSignal {
  return theirs ? AbortSignal.any([theirs, ours]) : ours;
}

async function lastOf(result: unknown): Promise<unknown> {
  if (typeof (Object(result) as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] !== "function") return result;
  let last: unknown;
  for await (const item of result as AsyncIterable<unknown>) last = item;
  return last;
}

/** The AI SDK must know before the call whether a tool yields preliminary results. */
function isGenerator(execute: Execute): boolean {
  return Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
}
