import { getCurrentTraceContext, type Span, type SpanError, withTraceContext } from "@openai/agents-core";

/** The message that the SDK sends to the model for a failed tool. */
const failureText = "An error occurred while running the tool. Please try again.";

/** The message of the error that the SDK adds to the current span when it turns an error of a tool into an output. */
const spanMessage = "Error running tool (non-fatal)";

type AnySpan = Span<never>;

/**
 * Calls a tool and returns whether its output replaces an error of the tool. The SDK reports such an error only to the
 * current span, so a call outside of a trace gets a span that only receives errors.
 */
export async function withToolErrors(
  toolName: string,
  invoke: () => Promise<unknown>,
): Promise<{ readonly output: unknown; readonly failed: boolean }> {
  let failed = false;
  const note = ({ message, data }: SpanError): void => {
    failed ||= message === spanMessage && data?.["tool_name"] === toolName;
  };
  const context = getCurrentTraceContext();
  const output = context
    ? await noting(context.span as AnySpan | undefined, note, invoke)
    : await withTraceContext({ trace: undefined as never, span: spanFor(note) }, invoke);
  return { output, failed: failed || output === failureText };
}

async function noting(
  span: AnySpan | undefined,
  note: (error: SpanError) => void,
  invoke: () => Promise<unknown>,
): Promise<unknown> {
  if (!span) return invoke();
  const own = Object.getOwnPropertyDescriptor(span, "setError");
  const setError = span.setError.bind(span);
  span.setError = (error) => {
    note(error);
    setError(error);
  };
  try {
    return await invoke();
  } finally {
    if (own) Object.defineProperty(span, "setError", own);
    else Reflect.deleteProperty(span, "setError");
  }
}

function spanFor(setError: (error: SpanError) => void): AnySpan {
  const span = { setError, clone: () => span };
  return span as unknown as AnySpan;
}
