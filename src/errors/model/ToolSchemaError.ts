import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * A model cannot call a tool with this input schema. The schema has no JSON Schema form, or its JSON Schema does not
 * describe an object. The request was not sent.
 */
export class ToolSchemaError extends AgentPersistenceError {
  override readonly code = "tool_schema_unsupported";

  constructor(
    readonly toolName: string,
    options: { readonly cause: unknown },
  ) {
    const reason = options.cause instanceof Error ? options.cause.message : String(options.cause);
    super(
      `The input schema of tool ${quoted(toolName)} cannot be sent to a model: ${reason}. ` +
        `Use z.object({ … }) with types that JSON has, such as z.iso.datetime() for a date, and transform their values.`,
      options,
    );
  }
}
