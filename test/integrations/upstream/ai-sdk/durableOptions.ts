import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import type {
  ProviderCall,
  ProviderModel,
  ProviderPart,
} from "../../../../src/integrations/ai-sdk/AiSdkLanguageModel.ts";
import { DurableDefinition } from "../../../../src/integrations/ai-sdk-agents/Durable.ts";
import { HostedAgents } from "../../../../src/integrations/hosted/HostedAgents.ts";

interface CallOptions {
  readonly toolCallId: string;
}
type Execute = (input: unknown, options: CallOptions) => unknown;
type Tools = Readonly<Record<string, { readonly execute?: Execute }>>;
interface Options {
  readonly model: unknown;
  readonly tools?: Tools;
  readonly prepareStep?: (step: unknown) => Promise<{ readonly model?: unknown } | undefined>;
}

/** Returns the options of `generateText` or `streamText` with durable models and tools. */
export function durableOptions({ model, tools, prepareStep, ...options }: Options): Options {
  const run = new UpstreamRun();
  return {
    ...options,
    model: run.model(model),
    ...(tools && { tools: run.tools(tools) }),
    ...(prepareStep && {
      prepareStep: async (step: unknown) => {
        const prepared = await prepareStep(step);
        return prepared?.model ? { ...prepared, model: run.model(prepared.model) } : prepared;
      },
    }),
  };
}

const ours = "agent-persistence";

/** A durable run that starts with its first request. Models and tools of a test see the call ids of the provider. */
class UpstreamRun {
  #definition: Promise<DurableDefinition> | undefined;
  readonly #models = new Map<unknown, unknown>();
  /** The library's id of each call, by the id of the provider, and the other way round. */
  readonly #own = new Map<string, string>();
  readonly #provided = new Map<string, string>();

  model(given: unknown): unknown {
    if ((Object(given) as Partial<ProviderModel>).specificationVersion !== "v4") return given;
    const model = given as ProviderModel;
    const known = this.#models.get(model) ?? this.#durableModel(model);
    this.#models.set(model, known);
    return known;
  }

  #durableModel(model: ProviderModel): ProviderModel {
    const doGenerate: ProviderModel["doGenerate"] = async (call) => {
      const generation = await (await this.#defined()).model(model).doGenerate(call);
      return { ...generation, content: generation.content.map((part) => this.#withProvidedId(part)) };
    };
    const doStream: ProviderModel["doStream"] = async (call) => {
      const inputs: unknown[] = [];
      const streamed = await (await this.#defined()).model(notingInputs(model, inputs)).doStream(call);
      const ids = new Map<unknown, unknown>();
      const shown = (part: ProviderPart): ProviderPart => {
        if (isOwnInput(part)) ids.set(part["id"], inputs.shift());
        const id = part.type.startsWith("tool-input-") ? ids.get(part["id"]) : undefined;
        return id === undefined ? this.#withProvidedId(part) : { ...part, id };
      };
      return { ...streamed, stream: streamed.stream.pipeThrough(mapped(shown)) };
    };
    return withMethods(model, { doGenerate, doStream });
  }

  tools(tools: Tools): Tools {
    const original = mapTools(tools, (execute) => calling(execute, async () => execute, this.#provided));
    let durable: Promise<Tools> | undefined;
    const wrapped = async () => (durable ??= this.#defined().then((definition) => definition.tools(original)));
    return mapTools(tools, (execute, name) => {
      const recorded = calling(execute, async () => (await wrapped())[name]?.execute ?? execute, this.#own);
      // A call from the messages of a test is not a call of this run.
      const choose = async ({ toolCallId }: CallOptions) => (this.#own.has(toolCallId) ? recorded : execute);
      return calling(execute, choose, new Map());
    });
  }

  #defined(): Promise<DurableDefinition> {
    return (this.#definition ??= new Promise((resolve, reject) => {
      const hosted = new HostedAgents("upstream", { storage: new InMemoryPersistenceStorageProvider() }, []);
      const body = (loop: ConstructorParameters<typeof DurableDefinition>[0]) => {
        resolve(new DurableDefinition(loop));
        return new Promise<never>(() => {});
      };
      hosted.run(null, { agentId: "a" }, body).catch(reject);
    }));
  }

  #withProvidedId(part: ProviderPart): ProviderPart {
    const { [ours]: noted, ...others } = Object(part["providerMetadata"]) as Readonly<Record<string, unknown>>;
    const { toolCallId: provided } = Object(noted) as { readonly toolCallId?: string };
    if (part.type !== "tool-call" || provided === undefined) return part;
    const id = String(part["toolCallId"]);
    this.#own.set(provided, id);
    this.#provided.set(id, provided);
    const { providerMetadata: _metadata, ...rest } = part;
    const kept = Object.keys(others).length > 0 && { providerMetadata: others };
    return { ...rest, type: part.type, toolCallId: provided, ...kept };
  }
}

function isOwnInput(part: ProviderPart): boolean {
  return part.type === "tool-input-start" && part["providerExecuted"] !== true;
}

/** Returns a model that notes the provider's ids of streamed inputs. */
function notingInputs(model: ProviderModel, ids: unknown[]): ProviderModel {
  const noted = (part: ProviderPart): ProviderPart => {
    if (isOwnInput(part)) ids.push(part["id"]);
    return part;
  };
  const doStream = async (call: ProviderCall) => {
    const streamed = await model.doStream(call);
    return { ...streamed, stream: streamed.stream.pipeThrough(mapped(noted)) };
  };
  return withMethods(model, { doStream });
}

function mapped(map: (part: ProviderPart) => ProviderPart): TransformStream<ProviderPart, ProviderPart> {
  return new TransformStream({ transform: (part, controller) => controller.enqueue(map(part)) });
}

function mapTools(tools: Tools, map: (execute: Execute, name: string) => Execute): Tools {
  const entries = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool;
    return [name, execute ? withMethods(tool, { execute: map(execute.bind(tool), name) }) : tool] as const;
  });
  return Object.fromEntries(entries);
}

/** Returns a function that calls another one with other call ids. It is a generator if the original is one. */
function calling(
  original: Execute,
  choose: (options: CallOptions) => Promise<Execute>,
  ids: ReadonlyMap<string, string>,
): Execute {
  const renamed = (options: CallOptions) => ({
    ...options,
    toolCallId: ids.get(options.toolCallId) ?? options.toolCallId,
  });
  if (Object.prototype.toString.call(original) !== "[object AsyncGeneratorFunction]")
    return async (input, options) => (await choose(options))(input, renamed(options));
  return async function* generated(input, options) {
    yield* (await choose(options))(input, renamed(options)) as AsyncIterable<unknown>;
  };
}

/** Returns a view of an object with other methods. Methods of its class keep the original as `this`. */
function withMethods<Given extends object>(given: Given, methods: Partial<Given>): Given {
  const copy: Given = Object.create(Object.getPrototypeOf(given) as object | null, {
    ...Object.getOwnPropertyDescriptors(given),
    ...Object.getOwnPropertyDescriptors(methods),
  }) as Given;
  const get = (own: Given, key: PropertyKey): unknown => {
    if (Object.hasOwn(own, key)) return Reflect.get(own, key);
    const value: unknown = Reflect.get(given, key);
    return typeof value === "function" ? value.bind(given) : value;
  };
  return new Proxy(copy, { get });
}
