"""Where every page lives: workers under /join and /work, researchers under /studies and /tasks."""

from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.contrib.messages.views import SuccessMessageMixin
from django.urls import include, path, reverse_lazy

from config import health
from config.help import help_page
from config.kept_forms import SignIn


class PasswordChange(SuccessMessageMixin, auth_views.PasswordChangeView):
    template_name = "researcher/password_change.html"
    success_url = reverse_lazy("studies")
    success_message = "The password was changed."


handler403 = "config.refusals.not_allowed"

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("analysis.urls")),
    path("sign-in/", SignIn.as_view(), name="login"),
    path("sign-out/", auth_views.LogoutView.as_view(), name="logout"),
    path("password/", PasswordChange.as_view(), name="password_change"),
    path("help/", help_page, name="help_index"),
    path("help/<path:address>", help_page, name="help"),
    path("health/live", health.live, name="health_live"),
    path("health/ready", health.ready, name="health_ready"),
    path("admin/", admin.site.urls),
]
