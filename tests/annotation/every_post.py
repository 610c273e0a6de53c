"""Every POST of a page with its right and twin: those of the table, and those by their class."""

from annotation import urls
from annotation.web import rights

POSTS = rights.POSTS | {post.row: rights.Post(post.right, post.twin()) for post in urls.POSTS}
