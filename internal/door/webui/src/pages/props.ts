// PageProps is what a page is given: the parts of its address.
export interface PageProps {
  parts: Record<string, string>;
}
