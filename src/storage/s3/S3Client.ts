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
