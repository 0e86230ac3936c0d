import type { CallToolResult } from "@modelcontextprotocol/server";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";

/** Returns the callback of a tool. Its result is a document as JSON, or the code and message of an error. */
export function answering<Input>(
  documentOf: (input: Input) => Promise<object>,
): (input: Input) => Promise<CallToolResult> {
  return async (input) => {
    try {
      return resultOf(JSON.stringify(await documentOf(input)));
    } catch (error) {
      const code = AgentPersistenceError.isInstance(error) ? `${error.code}: ` : "";
      return { ...resultOf(`${code}${error instanceof Error ? error.message : String(error)}`), isError: true };
    }
  };
}

function resultOf(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
