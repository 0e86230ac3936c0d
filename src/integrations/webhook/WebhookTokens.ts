import { z } from "zod";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../internal/bytes.ts";

interface Target {
  readonly agentId: string;
  readonly eventName: string;
}

const algorithm = { name: "HMAC", hash: "SHA-256" } as const;
const contentSchema = z.tuple([z.string(), z.string()]);

/** Signs the agent and the event of a webhook with HMAC-SHA-256, so that the server stores no tokens. */
export class WebhookTokens {
  readonly #key: Promise<CryptoKey>;

  constructor(secret: string) {
    this.#key = crypto.subtle.importKey("raw", ownBytes(utf8(secret)), algorithm, false, ["sign", "verify"]);
  }

  async sign({ agentId, eventName }: Target): Promise<string> {
    const content = utf8(JSON.stringify([agentId, eventName]));
    const signature = await crypto.subtle.sign(algorithm.name, await this.#key, ownBytes(content));
    return `${toBase64Url(content)}.${toBase64Url(new Uint8Array(signature))}`;
  }

  /** Returns the content of a token, or `undefined` if this secret did not sign it. Compares in constant time. */
  async verify(token: string): Promise<Target | undefined> {
    const [content, signature, ...rest] = token.split(".").map((part) => fromBase64Url(part));
    if (!content || !signature || rest.length > 0) return undefined;
    const isSigned = await crypto.subtle.verify(
      algorithm.name,
      await this.#key,
      ownBytes(signature),
      ownBytes(content),
    );
    if (!isSigned) return undefined;
    const [agentId, eventName] = contentSchema.parse(JSON.parse(fromUtf8(content)));
    return { agentId, eventName };
  }
}

/** The types of WebCrypto accept no bytes that may be shared. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(bytes);
}
