import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { UnreadableValueError } from "../../../errors/storedDataErrors.ts";
import { fromBase64Url, textOfUtf8, toBase64Url } from "../../../internal/bytes.ts";
import { GraphSerializer, decodeGraphValue, encodeGraphValue } from "../values/GraphSerializer.ts";
import type { Json } from "../values/Json.ts";

export interface ValueCoder {
  /** Reads the value before it returns. @throws NotSerializableError */
  encode(value: unknown, subject: string): Json | Promise<Json>;
  decode(json: Json): unknown;
}

/** Returns a coder that uses a serializer. Only the built-in serializer works synchronously. */
export function coderOf(serde: SerializerProtocol): ValueCoder {
  if (serde instanceof GraphSerializer) return { encode: encodeGraphValue, decode: decodeGraphValue };
  return {
    encode: async (value) => bytesOf(await serde.dumpsTyped(value)),
    decode: (json) => loaded(serde, json),
  };
}

type Dumped = readonly [type: string, text: string, binary?: true];

function bytesOf([type, data]: readonly [string, Uint8Array]): Json {
  const text = textOfUtf8(data);
  return text === undefined ? [type, toBase64Url(data), true] : [type, text];
}

function loaded(serde: SerializerProtocol, json: Json): Promise<unknown> {
  if (!isDumped(json)) throw new UnreadableValueError("it was stored by the default serializer, not by a custom one");
  const [type, text, binary] = json;
  const bytes = binary ? fromBase64Url(text) : new TextEncoder().encode(text);
  if (!bytes) throw new UnreadableValueError("its bytes are not base64url");
  return serde.loadsTyped(type, bytes);
}

function isDumped(json: Json): json is Dumped & Json {
  return Array.isArray(json) && typeof json[0] === "string" && typeof json[1] === "string";
}
