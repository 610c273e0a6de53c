"""Where every page lives: workers under /join and /work, researchers under /studies and /tasks."""

from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.urls import include, path

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("analysis.urls")),
    path(
        "sign-in/",
        auth_views.LoginView.as_view(template_name="researcher/sign_in.html"),
        name="login",
    ),
    path("sign-out/", auth_views.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
]
