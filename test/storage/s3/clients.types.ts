// Compiled, never run: the client is taken as its package has it.
import { S3 } from "@aws-sdk/client-s3";
import { S3BlobStore, type S3Client } from "agent-persistence/s3";
import type { BlobStore } from "agent-persistence/storage";

const client: S3Client = new S3();
const blobs: BlobStore = new S3BlobStore({
  client: new S3({ region: "us-east-1" }),
  bucket: "agents",
  prefix: "prod/",
});
void [client, blobs];
// @ts-expect-error the name of a bucket is no client
new S3BlobStore({ client: "agents", bucket: "agents" });
