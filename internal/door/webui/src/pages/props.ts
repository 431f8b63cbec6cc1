// PageProps are the properties of a page: the parts of its path.
export interface PageProps {
  parts: Record<string, string>;
}
