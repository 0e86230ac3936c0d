import type { PromptRequest } from "../../agent/model/PromptExecutor.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import { InvalidModelParametersError, ToolSchemaError } from "../../errors/modelErrors.ts";
import type { AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";
import { fileDataOf, taggedFileDataOf, promptOf } from "./AiSdkPrompt.ts";
import { z } from "zod";

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

export interface AiSdkFunctionTool {
  type: "function";
  name: string;
  description: string;
  inputSchema: z.core.JSONSchema.BaseSchema;
}

/** Uses the input side of the tool's schema, where defaults are optional and transforms are not applied. */
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

/** JSON in which members may be `undefined`, as in AI SDK settings. */
const json: z.ZodType = z.lazy(() => z.union([scalar, z.array(json), z.record(z.string(), json)]));

// Headers are excluded, because checkpoints store the parameters and headers contain keys.
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

/** Validates the model parameters of an agent, which use the names of AI SDK call options. */
function callParametersOf(parameters: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  const checked = callParameters.safeParse(parameters);
  if (!checked.success) {
    throw new InvalidModelParametersError(checked.error.issues.map(problemOf), Object.keys(callParameters.shape));
  }
  return Object.fromEntries(Object.entries(checked.data).filter(([, value]) => value !== undefined));
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
