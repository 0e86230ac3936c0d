import { z } from "zod";
import { maximumDepth } from "../../internal/frozenCopy.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import { isJson } from "../trace/isJson.ts";
import type { RunTrace } from "../trace/RunTrace.ts";

/** A run as JSON, such as from a file. */
export const runTraceSchema: z.ZodType<RunTrace> = z.lazy(() => {
  const optionalText = z.string().optional();
  const error = z.looseObject({ name: z.string(), message: z.string(), code: optionalText });
  const usage = z
    .looseObject({ totalTokens: z.number().optional(), cachedInputTokens: z.number().optional() })
    .optional();
  const request = z.looseObject({ model: optionalText, usage, within: optionalText });
  const call = z.looseObject({ toolCallId: z.string(), tool: z.string(), state: z.string(), error: optionalText });
  const added = z.array(z.looseObject({ message: z.unknown() }));
  const visit = z.looseObject({
    node: z.string(),
    branch: optionalText,
    agentPath: z.array(z.string()).optional(),
    state: z.string(),
    durationMs: z.number().optional(),
    requests: z.array(request),
    calls: z.array(call),
    waits: z.array(z.looseObject({ kind: z.string(), state: z.string() })),
    messages: z.looseObject({ added, removed: z.array(z.unknown()) }),
  });
  const run = z.looseObject({
    agentId: z.string(),
    runId: z.string(),
    status: z.string(),
    error: error.optional(),
    durationMs: z.number().optional(),
    visits: z.array(visit),
  });
  return traceOfVersion.pipe(jsonValue).pipe(run as unknown as z.ZodType<RunTrace, RunTrace>);
});

const traceOfVersion = customSchema<RunTrace>("a run of readRunTrace() with version 1", (value) => {
  const { version, visits } = Object(value) as Partial<RunTrace>;
  return version === 1 && Array.isArray(visits);
});

/** Comparisons walk values with recursion, so a deeper value would overflow the stack. */
const jsonValue = z.custom<RunTrace>((value) => isJson(value, maximumDepth), {
  error: `expected JSON values with at most ${maximumDepth} levels`,
}) as z.ZodType<RunTrace, RunTrace>;
