import type { PromptRequest } from "../../agent/model/PromptExecutor.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import { InvalidModelParametersError } from "../../errors/model/InvalidModelParametersError.ts";
import { ToolSchemaError } from "../../errors/model/ToolSchemaError.ts";
import type { AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";
import { fileDataOf, taggedFileDataOf } from "./fileData.ts";
import { promptOf } from "./promptOf.ts";
import { z } from "zod";

/** A request in the words of the model's specification version. */
export function callOptionsOf(version: AiSdkLanguageModel["specificationVersion"], request: PromptRequest) {
  const { messages, tools, parameters, abortSignal } = request;
  return {
    ...callParametersOf(parameters),
    prompt:
      version === "v4"
        ? promptOf(messages, { fileDataOf: taggedFileDataOf, custom: true })
        : promptOf(messages, { fileDataOf, custom: false }),
    ...(tools.length > 0 && { tools: tools.map(functionToolOf) }),
    abortSignal,
  };
}

/** The description of a tool that a model gets. */
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
    if (schema.type !== undefined && schema.type !== "object")
      throw new TypeError(`a model calls a tool with an object, but this schema takes type "${String(schema.type)}"`);
    return { type: "function", name, description, inputSchema: schema };
  } catch (cause) {
    throw new ToolSchemaError(name, { cause });
  }
}

const toolChoice = z.union([
  z.strictObject({ type: z.enum(["auto", "none", "required"]), toolName: z.undefined().optional() }),
  z.strictObject({ type: z.literal("tool"), toolName: z.string() }),
]);

const responseFormat = z.union([
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({
    type: z.literal("json"),
    schema: z.union([z.boolean(), z.record(z.string(), z.unknown())]).optional(),
    name: z.string().optional(),
    description: z.string().optional(),
  }),
]);

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null(), z.undefined()]);

/** JSON in which members may be `undefined`, as in the settings of the AI SDK. */
const json: z.ZodType = z.lazy(() => z.union([scalar, z.array(json), z.record(z.string(), json)]));

// No headers: parameters are stored with every checkpoint that changes them, and headers hold keys.
const callParameters = z.strictObject({
  maxOutputTokens: z.int().positive().optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  stopSequences: z.array(z.string()).optional(),
  seed: z.int().optional(),
  reasoning: z.string().optional(),
  toolChoice: toolChoice.optional(),
  responseFormat: responseFormat.optional(),
  providerOptions: z.record(z.string(), z.record(z.string(), json)).optional(),
});

/** The parameters of an agent as call options of the AI SDK, which have the same names. */
export function callParametersOf(
  parameters: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const checked = callParameters.safeParse(parameters);
  if (!checked.success) {
    throw new InvalidModelParametersError(checked.error.issues.map(problemOf), Object.keys(callParameters.shape));
  }
  return Object.fromEntries(Object.entries(checked.data).filter(([, value]) => value !== undefined));
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
