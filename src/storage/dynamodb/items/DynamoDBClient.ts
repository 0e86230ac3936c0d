/** The methods of the client `DynamoDB` of the AWS SDK that the storage calls, without an import of the SDK. */
export interface DynamoDBClient {
  getItem(input: object): Promise<{ readonly Item?: DynamoDBItem | undefined }>;
  putItem(input: object): Promise<object>;
  updateItem(input: object): Promise<{ readonly Attributes?: DynamoDBItem | undefined }>;
  deleteItem(input: object): Promise<object>;
  query(input: object): Promise<{
    readonly Items?: readonly DynamoDBItem[] | undefined;
    readonly LastEvaluatedKey?: DynamoDBItem | undefined;
  }>;
  batchGetItem(input: object): Promise<{
    readonly Responses?: Readonly<Record<string, readonly DynamoDBItem[]>> | undefined;
    readonly UnprocessedKeys?: Readonly<Record<string, object>> | undefined;
  }>;
  batchWriteItem(input: object): Promise<{
    readonly UnprocessedItems?: Readonly<Record<string, readonly object[]>> | undefined;
  }>;
}

/** An item in the format of the service: each attribute is an object that names its type. */
export type DynamoDBItem = Readonly<Record<string, object>>;
