import isNetworkError from "is-network-error";
import type { ModelDelta, PromptExecutor, PromptRequest } from "../../agent/model/PromptExecutor.ts";
import {
  ModelNotAvailableError,
  ModelRequestError,
  InvalidModelParametersError,
  ToolSchemaError,
} from "../../errors/modelErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema, functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import {
  type AiSdkGeneration,
  type AiSdkLanguageModel,
  type AiSdkStream,
  generationSchema,
  type ProviderPart,
} from "./AiSdkLanguageModel.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { type AiSdkAnswer, aiSdkResponse } from "./aiSdkResponse.ts";
import { assertResponseShape } from "../../agent/model/checkedResponse.ts";
import { leftOut, StreamedGeneration } from "./StreamedGeneration.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import { promptOf } from "./AiSdkPrompt.ts";
import { z } from "zod";

/** Options of {@link aiSdkExecutor}. */
export interface AiSdkExecutorOptions {
  /** Called for each warning of a provider, such as an ignored parameter. By default warnings are dropped. */
  readonly onWarning?: ((warning: unknown, model: string) => void) | undefined;
}

const modelsSchema = customSchema(
  "a language model of the AI SDK, or a function that returns the model with a name",
  (models) => typeof models === "function" || objectWithMethods("doGenerate").safeParse(models).success,
);
const optionsSchema = strictOptions(() => ({ onWarning: functionSchema().optional() }));

/** A prompt executor that can stream, and that always returns a finish reason. */
export interface AiSdkExecutor extends PromptExecutor {
  execute(request: PromptRequest): Promise<AiSdkAnswer>;
  stream(request: PromptRequest, onDelta: (delta: ModelDelta) => void): Promise<AiSdkAnswer>;
}

/**
 * Creates a prompt executor for any language model of the AI SDK 5, 6 or 7.
 *
 * A single model serves agents whose `llmModel` equals its `modelId`, and other names are rejected. To serve several
 * models, pass a function that maps names to models, such as a provider of the AI SDK.
 *
 * The model parameters of an agent are the call settings of the AI SDK (`temperature`, `maxOutputTokens`, `topP`,
 * `topK`, `seed`, `stopSequences`, `presencePenalty`, `frequencyPenalty`, `toolChoice`, `responseFormat`, `reasoning`,
 * `providerOptions`). The settings are stored with the agent, so configure headers and keys at the provider.
 *
 * Each call sends one request. Errors have `retryable` and `retryAfterMs`, and the agent retries according to its
 * `modelRetry`. URLs of file parts are passed to the model and never downloaded.
 *
 * @example
 * ```ts
 * const openai = createOpenAI({ apiKey });
 * new AIAgent({ promptExecutor: aiSdkExecutor(openai), llmModel: "gpt-5-mini" });
 * ```
 *
 * @throws {@link ModelRequestError} if the request fails
 * @throws {@link UnusableModelAnswerError} if the response cannot be used
 * @throws {@link ModelNotAvailableError}, {@link InvalidModelParametersError}, {@link ToolSchemaError} or
 * {@link UnsupportedMessagePartError} before the request is sent
 * @throws the reason of the abort signal once it is aborted
 */
export function aiSdkExecutor(models: AiSdkModels, options: AiSdkExecutorOptions = {}): AiSdkExecutor {
  checkSchema(modelsSchema, models, "model of aiSdkExecutor");
  checkSchema(optionsSchema, options, "options of aiSdkExecutor");
  const answer = async (request: PromptRequest, generate: Generate): Promise<AiSdkAnswer> => {
    request.abortSignal.throwIfAborted();
    const model = await modelNamed(models, request.model);
    const generation = await generated(model, request, generate);
    assertResponseShape(generationSchema, generation, model.modelId, model.provider);
    for (const warning of generation.warnings ?? []) options.onWarning?.(warning, request.model);
    return aiSdkResponse(model, generation);
  };
  return {
    execute: (request) => answer(request, (model, callOptions) => model.doGenerate(callOptions)),
    stream: (request, onDelta) =>
      answer(request, async (model, callOptions) =>
        model.doStream
          ? generationIn(await model.doStream(callOptions), model.modelId, onDelta)
          : model.doGenerate(callOptions),
      ),
  };
}

/** Reads a stream to its end and reports its deltas. @throws the error that the stream contains */
async function generationIn(
  { stream }: AiSdkStream,
  modelId: string,
  onDelta: (delta: ModelDelta) => void,
): Promise<AiSdkGeneration> {
  const streamed = new StreamedGeneration(modelId);
  for await (const part of stream as unknown as AsyncIterable<ProviderPart>) {
    if (part.type === "error") throw part["error"];
    streamed.add(part);
    const { type, delta = "" } = part;
    if ((type === "text-delta" || type === "reasoning-delta") && delta !== "") onDelta({ type, text: String(delta) });
  }
  const { generation } = streamed;
  const content = generation.content.filter(({ type }) => type !== leftOut);
  return { ...(generation as AiSdkGeneration), content };
}

type Generate = (model: AiSdkLanguageModel, callOptions: never) => PromiseLike<AiSdkGeneration>;

async function generated(
  model: AiSdkLanguageModel,
  request: PromptRequest,
  generate: Generate,
): Promise<AiSdkGeneration> {
  const callOptions = callOptionsOf(model.specificationVersion, request);
  try {
    // The types cannot express that these options match the specification version of the model.
    return await generate(model, callOptions as never);
  } catch (cause) {
    request.abortSignal.throwIfAborted();
    throw requestErrorOf(model, cause);
  }
}

/** The fields of the errors with which the AI SDK and its gateway report a failed call. */
interface CallFailure {
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string | undefined>>;
}

/** Converts any error of a model call to an error with a stable code. */
function requestErrorOf(model: AiSdkLanguageModel, cause: unknown): ModelRequestError {
  const failure: CallFailure = typeof cause === "object" && cause !== null ? cause : {};
  const retryAfterMs = retryAfterMsOf(failure.responseHeaders ?? {});
  return new ModelRequestError({
    model: model.modelId,
    provider: model.provider,
    // If the connection breaks during the response, the error is not one of the AI SDK.
    retryable: failure.isRetryable === true || isNetworkError(cause),
    ...(typeof failure.statusCode === "number" && { statusCode: failure.statusCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    cause,
  });
}

function retryAfterMsOf(headers: Readonly<Record<string, string | undefined>>): number | undefined {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (ms >= 0) return ms;
  const after = headers["retry-after"] ?? "";
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000;
  // The wait starts at the `date` of the response, because the local clock can differ from the clock of the provider.
  const wait = Date.parse(after) - Date.parse(headers["date"] ?? "");
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** A model, or a function that maps names to models, such as a provider of the AI SDK. */
export type AiSdkModels = AiSdkLanguageModel | ((name: string) => AiSdkLanguageModel | PromiseLike<AiSdkLanguageModel>);

const versions: readonly string[] = ["v2", "v3", "v4"] satisfies AiSdkLanguageModel["specificationVersion"][];

async function modelNamed(models: AiSdkModels, name: string): Promise<AiSdkLanguageModel> {
  const model: Partial<AiSdkLanguageModel> | undefined =
    typeof models === "function" ? await made(models, name) : models;
  if (model === undefined || model === null)
    throw new ModelNotAvailableError(name, "the function returned no model for this name");
  if (!versions.includes(model.specificationVersion ?? "")) throw new ModelNotAvailableError(name, unsupported(model));
  if (typeof models !== "function" && models.modelId !== name) throw new ModelNotAvailableError(name, only(models));
  return model as AiSdkLanguageModel;
}

async function made(make: (name: string) => unknown, name: string): Promise<Partial<AiSdkLanguageModel> | undefined> {
  try {
    return (await make(name)) as Partial<AiSdkLanguageModel> | undefined;
  } catch (cause) {
    throw new ModelNotAvailableError(name, reasonOf(cause), { cause });
  }
}

function unsupported({ specificationVersion }: Partial<AiSdkLanguageModel>): string {
  const found = specificationVersion === undefined ? "none" : JSON.stringify(specificationVersion);
  return `its specification version is ${found}, supported are ${versions.join(", ")} (AI SDK 5 to 7)`;
}

function only({ modelId }: AiSdkLanguageModel): string {
  return `this executor has only the model ${JSON.stringify(modelId)}; request that model, or pass aiSdkExecutor a function (name) => model`;
}

function callOptionsOf(version: AiSdkLanguageModel["specificationVersion"], request: PromptRequest) {
  const { messages, tools, parameters, abortSignal } = request;
  return {
    ...callParametersOf(parameters),
    prompt: promptOf(messages, { isV4: version === "v4" }),
    ...(tools.length > 0 && { tools: tools.map(functionToolOf) }),
    abortSignal,
  };
}

interface AiSdkFunctionTool {
  type: "function";
  name: string;
  description: string;
  inputSchema: z.core.JSONSchema.BaseSchema;
}

/** Describes the tool by the input of its schema, so defaults are optional and transforms are not applied. */
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

/** JSON in which fields can be `undefined`, as in AI SDK settings. */
const json: z.ZodType = z.lazy(() => z.union([scalar, z.array(json), z.record(z.string(), json)]));

// Headers are not accepted, because checkpoints store the parameters and headers contain keys.
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
  return withoutUndefined(checked.data);
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
