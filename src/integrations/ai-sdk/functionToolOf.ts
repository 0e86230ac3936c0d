import { z } from "zod";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import { ToolSchemaError } from "../../errors/model/ToolSchemaError.ts";

/** A tool as a model is told of it. */
export interface AiSdkFunctionTool {
  type: "function";
  name: string;
  description: string;
  inputSchema: z.core.JSONSchema.BaseSchema;
}

/** What a model may write is what the tool's schema takes in, so defaults are optional and transforms not yet applied. */
export function functionToolOf({ name, description, inputSchema }: AnyTool): AiSdkFunctionTool {
  try {
    const schema = z.toJSONSchema(inputSchema, { io: "input", target: "draft-7" });
    return { type: "function", name, description, inputSchema: schema };
  } catch (cause) {
    throw new ToolSchemaError(name, { cause });
  }
}
