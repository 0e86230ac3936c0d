import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The input schema of a tool cannot be expressed as JSON Schema, which models need. Nothing was sent. */
export class ToolSchemaError extends AgentPersistenceError {
  override readonly code = "tool_schema_unsupported";

  constructor(
    readonly toolName: string,
    options: { readonly cause: unknown },
  ) {
    const reason = options.cause instanceof Error ? options.cause.message : String(options.cause);
    super(
      `The input schema of tool ${JSON.stringify(toolName)} cannot be expressed as JSON Schema: ${reason}. ` +
        `Use types that JSON has, such as z.iso.datetime() for a date, and transform their values.`,
      options,
    );
  }
}
