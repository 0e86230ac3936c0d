import { StorageError, type StorageFailure } from "../../errors/storageErrors.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema, nonEmptyString, objectWithMethods, sha256Schema } from "../../internal/options/optionSchemas.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { parseBlobReference } from "../blobs.ts";
import { HashedBlobs } from "../HashedBlobs.ts";
import { utf8 } from "../../internal/bytes.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";

/** The methods of the AWS SDK client `S3` from `@aws-sdk/client-s3` that the store calls. */
export interface S3Client {
  putObject(input: object): Promise<object>;
  getObject(input: object): Promise<{ readonly Body?: S3Body | undefined }>;
  deleteObject(input: object): Promise<object>;
}

/** The content of an object. */
export interface S3Body {
  transformToByteArray(): Promise<Uint8Array>;
}

/** Options of {@link S3BlobStore}. */
export interface S3BlobStoreOptions {
  /** The `S3` client of `@aws-sdk/client-s3`. The store does not destroy the client. */
  readonly client: S3Client;
  readonly bucket: string;
  /** The prefix of all keys, such as `"agents/"`, of up to 512 bytes. Defaults to an empty prefix. */
  readonly prefix?: string | undefined;
  /** Defaults to the SHA-256 of Node, or to a JavaScript implementation on other platforms. */
  readonly sha256?: Sha256 | undefined;
}

const optionsSchema = strictOptions(() => ({
  client: objectWithMethods<S3Client>("putObject", "getObject", "deleteObject"),
  bucket: nonEmptyString,
  prefix: customSchema<string>("well-formed text of up to 512 bytes", isPrefix).optional(),
  sha256: sha256Schema.optional(),
}));

/**
 * Stores large values of agents in an S3 bucket. Pass the store as the option `blobs` of a storage. The key of a blob
 * consists of the prefix, the SHA-256 of the agent id in hex, a slash, and the reference without `blob://`. Stored
 * blobs never change.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { S3 } from "@aws-sdk/client-s3";
 *
 * const blobs = new S3BlobStore({ client: new S3(), bucket: "my-agents" });
 * const storage = new PostgresPersistenceStorageProvider({ client: pool, blobs });
 * ```
 */
export class S3BlobStore extends HashedBlobs {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(options: S3BlobStoreOptions) {
    checkSchema(optionsSchema, options, "options of the S3 blobs");
    const { client, bucket, prefix = "", sha256 } = options;
    super(sha256 === undefined ? platformSha256 : () => Promise.resolve(sha256));
    this.#client = client;
    this.#bucket = bucket;
    this.#prefix = prefix;
  }

  async putNamed(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    assertAgentId(agentId);
    const at = await this.#at(agentId, reference);
    await this.#ask("put of a blob", agentId, () => this.#client.putObject({ ...at, Body: bytes }));
  }

  async getNamed(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    assertAgentId(agentId);
    if (parseBlobReference(reference) === undefined) return undefined;
    const at = await this.#at(agentId, reference);
    return this.#ask("get of a blob", agentId, () => this.#read(at));
  }

  /** Reads the blob and puts it. Throws like `get` and `put`. */
  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    assertAgentId(toAgentId);
    const bytes = await this.get(fromAgentId, reference);
    if (bytes) await this.putNamed(toAgentId, reference, bytes);
    return bytes !== undefined;
  }

  /** @throws StorageError if the bucket cannot be reached. */
  async delete(agentId: string, reference: string): Promise<void> {
    assertAgentId(agentId);
    if (parseBlobReference(reference) === undefined) return;
    const at = await this.#at(agentId, reference);
    await this.#ask("delete of a blob", agentId, () => this.#client.deleteObject(at));
  }

  protected async placeOf(agentId: string, reference: string): Promise<string> {
    const { Bucket, Key } = await this.#at(agentId, reference);
    return `the object ${Key} of the bucket ${Bucket}`;
  }

  async #read(at: object): Promise<Uint8Array | undefined> {
    try {
      const { Body } = await this.#client.getObject(at);
      return Body && new Uint8Array(await Body.transformToByteArray());
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #at(agentId: string, reference: string) {
    const agent = (await this.sha256()).hex(agentId);
    return { Bucket: this.#bucket, Key: `${this.#prefix}${agent}/${reference.slice("blob://".length)}` };
  }

  async #ask<Result>(operation: string, agentId: string, call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      const of = `agent ${quoted(agentId)} in the bucket ${this.#bucket}`;
      const failure = failureOf(error);
      throw new StorageError(failure, operation, of, { cause: error, advice: advice[failure] });
    }
  }
}

interface S3Failure {
  readonly name?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function isMissing(error: unknown): boolean {
  const { name } = Object(error) as S3Failure;
  return name === "NoSuchKey" || name === "NotFound";
}

/** An S3 key has at most 1,024 bytes. */
function isPrefix(value: unknown): boolean {
  return typeof value === "string" && !/\p{Surrogate}/u.test(value) && utf8(value).length <= 512;
}

const advice: Partial<Record<StorageFailure, string>> = {
  io: "Create the bucket, or correct the option bucket.",
  permission: "Allow s3:PutObject, s3:GetObject and s3:DeleteObject on the objects, and s3:ListBucket on the bucket.",
  unavailable: "Check that the bucket can be reached, and open the agent again.",
};

function failureOf(error: unknown): StorageFailure {
  const { name, $metadata } = Object(error) as S3Failure;
  if (name === "NoSuchBucket") return "io";
  const status = $metadata?.httpStatusCode;
  return status === 401 || status === 403 || name === "CredentialsProviderError" ? "permission" : "unavailable";
}
