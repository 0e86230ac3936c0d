export { S3BlobStore, type S3BlobStoreOptions } from "./storage/s3/S3BlobStore.ts";
export type { S3Body, S3Client } from "./storage/s3/S3Client.ts";
