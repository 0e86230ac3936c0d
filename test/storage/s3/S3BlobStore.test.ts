import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { S3 } from "@aws-sdk/client-s3";
import { S3BlobStore, type S3Client } from "agent-persistence/s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MemoryTable } from "../table/MemoryTable.ts";
import { TableRecordLog } from "agent-persistence/storage";

/** A bucket over HTTP: objects by their path. */
const objects = new Map<string, Buffer>();
let failsWith: number | undefined;
let server: Server;
let client: S3;

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const path = decodeURIComponent(new URL(request.url ?? "", "http://s3").pathname);
      const found = objects.get(path);
      if (failsWith !== undefined) response.writeHead(failsWith).end();
      else if (request.method === "PUT") {
        objects.set(path, Buffer.concat(parts));
        response.writeHead(200).end();
      } else if (request.method === "DELETE") {
        objects.delete(path);
        response.writeHead(204).end();
      } else if (found) response.writeHead(200, { "content-length": found.length }).end(found);
      else response.writeHead(404).end("<Error><Code>NoSuchKey</Code><Message>none</Message></Error>");
    });
  });
  // A connection that ends while nobody uses it would fail a request that does.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = new S3({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    forcePathStyle: true,
    maxAttempts: 1,
    requestChecksumCalculation: "WHEN_REQUIRED",
  });
});

beforeEach(() => {
  objects.clear();
  failsWith = undefined;
});

afterAll(() => {
  client.destroy();
  server.close();
  server.closeAllConnections();
});

function store(prefix = "prod/"): S3BlobStore {
  return new S3BlobStore({ client, bucket: "agents", prefix });
}

describe("blobs in S3", () => {
  it("are returned only to their agent, from any process, until they are deleted", async () => {
    const bytes = new Uint8Array(1_000_000).map((_, at) => at % 251);
    const reference = await store().put("a/b", 3, bytes);
    expect(reference).toMatch(/^blob:\/\/[0-9a-f]{64}-3$/);
    expect(await store().put("a/b", 3, bytes)).toBe(reference);
    expect(await store().put("a/b", 4, bytes, "gzip")).toMatch(/-4\.gz$/);
    const found = await store().get("a/b", reference);
    expect(Buffer.from(found ?? []).equals(bytes)).toBe(true);
    expect(await store().get("a", reference)).toBeUndefined();
    expect(await store("test/").get("a/b", reference)).toBeUndefined();
    // Where a user removes what a deleted agent has left.
    const place = `/agents/prod/${createHash("sha256").update("a/b").digest("hex")}/`;
    expect([...objects.keys()].every((key) => key.startsWith(place))).toBe(true);
    await store().delete("a/b", reference);
    await store().delete("a/b", reference);
    expect(await store().get("a/b", reference)).toBeUndefined();
    expect(objects.size).toBe(1);
  });

  it("are copied under the same reference", async () => {
    const reference = await store().put("a", 3, new Uint8Array([1, 2]), "gzip");
    expect(await store().copy("a", reference, "😀")).toBe(true);
    expect(await store().copy("b", reference, "c")).toBe(false);
    await store().delete("a", reference);
    expect(await store().get("😀", reference)).toEqual(new Uint8Array([1, 2]));
  });

  it("can be empty and belong to agents with the longest ids", async () => {
    const id = "é".repeat(512);
    const reference = await store("p".repeat(512)).put(id, 1, new Uint8Array());
    expect(await store("p".repeat(512)).get(id, reference)).toEqual(new Uint8Array());
    expect(Math.max(...[...objects.keys()].map((key) => key.length))).toBeLessThanOrEqual(1_024);
  });

  it("are reported as damaged if their bytes change", async () => {
    const reference = await store().put("a", 1, new Uint8Array([1, 2, 3]));
    for (const key of objects.keys()) objects.set(key, Buffer.from([1, 2, 4]));
    const message = expect.stringMatching(
      /the object prod\/[0-9a-f]{64}\/\S+ of the bucket agents .*Restore it/,
    ) as string;
    await expect(store().get("a", reference)).rejects.toMatchObject({ code: "corrupt_blob", message });
  });

  it("are not found by an invalid reference, and S3 gets no request", async () => {
    failsWith = 500;
    expect(await store().get("a", "blob://../../secret")).toBeUndefined();
    expect(await store().copy("a", "secret", "b")).toBe(false);
    await store().delete("a", "secret");
  });

  it.each([
    [403, "permission", "s3:ListBucket"],
    [500, "unavailable", "Check that the bucket can be reached"],
    [503, "unavailable", "Check that the bucket can be reached"],
  ])("turn a failure with status %i into a StorageError: %s", async (status, reason, advice) => {
    const reference = await store().put("a", 1, new Uint8Array([1]));
    failsWith = status;
    const failure = { code: "storage_failed", reason };
    await expect(store().put("a", 1, new Uint8Array([1]))).rejects.toMatchObject(failure);
    await expect(store().get("a", reference)).rejects.toMatchObject(failure);
    await expect(store().get("a", reference)).rejects.toThrow(advice);
    await expect(store().delete("a", reference)).rejects.toMatchObject(failure);
    await expect(store().copy("a", reference, "b")).rejects.toMatchObject(failure);
  });

  it("can be an option of a log in a table", async () => {
    const log = new TableRecordLog(new MemoryTable(), { blobs: store() });
    const reference = await log.blobs.put("a", 1, new Uint8Array([7]));
    expect(objects.size).toBe(1);
    expect(await log.blobs.get("a", reference)).toEqual(new Uint8Array([7]));
  });

  it("refuse wrong options", () => {
    for (const prefix of ["p".repeat(513), "😀".repeat(129), "\uD800"])
      expect(() => new S3BlobStore({ client, bucket: "b", prefix })).toThrow(/prefix/);
    expect(() => new S3BlobStore({ client, bucket: "" })).toThrow(/bucket/);
    expect(() => new S3BlobStore({ client: {} as S3Client, bucket: "b" })).toThrow(/putObject/);
    expect(() => new S3BlobStore({ client, bucket: "b", prefx: "" } as { client: S3; bucket: string })).toThrow(
      /prefix/,
    );
  });
});
