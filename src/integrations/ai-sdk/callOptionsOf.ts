import type { PromptRequest } from "../../agent/model/PromptExecutor.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import { ToolSchemaError } from "../../errors/model/ToolSchemaError.ts";
import type { AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";
import { callParametersOf } from "./callParametersOf.ts";
import { fileDataOf, taggedFileDataOf } from "./fileData.ts";
import { promptOf } from "./promptOf.ts";
import { z } from "zod";

/** A request in the words of the model's specification version. */
export function callOptionsOf(version: AiSdkLanguageModel["specificationVersion"], request: PromptRequest) {
  const { messages, tools, parameters, abortSignal } = request;
  return {
    ...callParametersOf(parameters),
    prompt: version === "v4" ? promptOf(messages, taggedFileDataOf) : promptOf(messages, fileDataOf),
    ...(tools.length > 0 && { tools: tools.map(functionToolOf) }),
    abortSignal,
  };
}

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
