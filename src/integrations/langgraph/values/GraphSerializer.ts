import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { UnreadableValueError } from "../../../errors/storedDataErrors.ts";
import { decodeGraphValue } from "./decodeGraphValue.ts";
import { encodeGraphValue } from "./encodeGraphValue.ts";
import type { Json } from "./Json.ts";

/**
 * The default serializer of `PersistenceSaver`. It stores JSON, messages and documents of LangChain, `Send`,
 * `Overwrite`, `Command`, errors, Date, Map, Set, bigint, bytes, URL, RegExp, undefined, NaN and instances of classes
 * registered with `registerClass`. It rejects other values, because they would be read back changed.
 */
export class GraphSerializer implements SerializerProtocol {
  /** @throws NotSerializableError with the path of the unsupported value */
  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    return ["graph", new TextEncoder().encode(JSON.stringify(encodeGraphValue(value, "a value of a graph")))];
  }

  /** @throws UnreadableValueError for data of another serializer and for damaged data */
  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== "graph") throw new UnreadableValueError(`it was stored by a serializer of the type "${type}"`);
    const text = typeof data === "string" ? data : new TextDecoder().decode(data);
    return decodeGraphValue(jsonOf(text));
  }
}

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new UnreadableValueError("it is not valid JSON", { cause: error });
  }
}
