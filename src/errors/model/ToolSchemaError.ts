import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool's input schema has no JSON Schema, so no model can be told what the tool takes. Nothing was sent. */
export class ToolSchemaError extends AgentPersistenceError {
  override readonly code = "tool_schema_unsupported";
  readonly toolName: string;

  constructor(toolName: string, options: { readonly cause: unknown }) {
    const reason = options.cause instanceof Error ? options.cause.message : String(options.cause);
    super(
      `The input schema of tool ${JSON.stringify(toolName)} cannot be shown to a model: ${reason}. ` +
        `Take what JSON can say, such as z.iso.datetime() for a date, and transform it.`,
      options,
    );
    this.toolName = toolName;
  }
}
